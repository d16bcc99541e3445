//! Counters in the Prometheus text format.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::App;

/// Routes that are counted by name; everything else is `other`.
pub(crate) const ROUTES: [&str; 15] = [
    "/v1/classify",
    "/v1/explain",
    "/v1/labels",
    "/v1/label",
    "/v1/features",
    "/v1/taxonomy",
    "/v1/models",
    "/v1/model",
    "/v1/server",
    "/openapi.json",
    "/healthz",
    "/readyz",
    "/metrics",
    "/",
    "other",
];

/// Statuses that are told apart; others count as the last.
const STATUSES: [u16; 15] = [200, 304, 400, 401, 404, 405, 408, 413, 415, 421, 422, 429, 503, 500, 0];

/// Upper bounds of the latency histogram, in microseconds.
const BOUNDS: [u64; 12] = [100, 250, 500, 1000, 2500, 5000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 10_000_000];

#[derive(Default)]
struct Route {
    by_status: [AtomicU64; STATUSES.len()],
    buckets: [AtomicU64; BOUNDS.len() + 1],
    microseconds: AtomicU64,
}

/// All counters.
#[derive(Default)]
pub(crate) struct Metrics {
    routes: [Route; ROUTES.len()],
    pub(crate) documents: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) accepted: AtomicU64,
    pub(crate) cut: AtomicU64,
    pub(crate) turned_away: AtomicU64,
    pub(crate) read: AtomicU64,
    pub(crate) swapped: AtomicU64,
    pub(crate) refused: AtomicU64,
}

impl Metrics {
    pub(crate) fn record(&self, path: &str, status: u16, took: Duration) {
        let at = ROUTES.iter().position(|r| *r == path).unwrap_or(ROUTES.len() - 1);
        let route = &self.routes[at];
        let status = STATUSES.iter().position(|s| *s == status).unwrap_or(STATUSES.len() - 1);
        let took = took.as_micros() as u64;
        route.by_status[status].fetch_add(1, Ordering::Relaxed);
        route.buckets[BOUNDS.partition_point(|&b| b < took)].fetch_add(1, Ordering::Relaxed);
        route.microseconds.fetch_add(took, Ordering::Relaxed);
    }

    pub(crate) fn print(&self, app: &App) -> String {
        let mut out = String::new();
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut one = |name: &str, kind: &str, help: &str, value: u64| {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
        };
        one("tamis_documents_total", "counter", "Documents labelled or explained.", get(&self.documents));
        one("tamis_connections_total", "counter", "Connections accepted.", get(&self.accepted));
        one("tamis_connections", "gauge", "Open connections.", get(&self.connections));
        one(
            "tamis_connections_cut_total",
            "counter",
            "Connections that ended in an error or a timeout.",
            get(&self.cut),
        );
        let away = get(&self.turned_away);
        one(
            "tamis_connections_reserve_total",
            "counter",
            "Connections beyond the limit: only for health checks.",
            away,
        );
        one("tamis_computing", "gauge", "Requests that compute.", app.gate.running() as u64);
        one("tamis_waiting", "gauge", "Requests that wait for their turn.", app.gate.waiting() as u64);
        let held = (app.requests.used() + app.streams.used()) as u64;
        one("tamis_buffered_bytes", "gauge", "Room that large requests, answers and streams take.", held);
        let read = get(&self.read);
        one("tamis_models_read_total", "counter", "Model files that were read, after the first.", read);
        one("tamis_models_swapped_total", "counter", "Model files that replaced another.", get(&self.swapped));
        one("tamis_models_refused_total", "counter", "Model files that were refused.", get(&self.refused));
        let lost = crate::Log::stderr().lost();
        one("tamis_log_lines_lost_total", "counter", "Lines of the log that could not be written in time.", lost);
        if let Some(bytes) = resident() {
            one("process_resident_memory_bytes", "gauge", "Memory in use.", bytes);
        }
        out.push_str("# HELP tamis_model_info A model in service.\n# TYPE tamis_model_info gauge\n");
        for model in app.models.all() {
            let name = model.name.replace('\\', "\\\\").replace('"', "\\\"");
            let _ = writeln!(out, "tamis_model_info{{model=\"{name}\",generation=\"{}\"}} 1", model.generation);
        }
        out.push_str("# HELP tamis_requests_total Requests answered.\n# TYPE tamis_requests_total counter\n");
        for (path, route) in ROUTES.iter().zip(&self.routes) {
            for (status, count) in STATUSES.iter().zip(&route.by_status) {
                let count = get(count);
                if count > 0 {
                    let _ = writeln!(out, "tamis_requests_total{{path=\"{path}\",status=\"{status}\"}} {count}");
                }
            }
        }
        out.push_str("# HELP tamis_request_seconds Time to answer.\n# TYPE tamis_request_seconds histogram\n");
        for (path, route) in ROUTES.iter().zip(&self.routes) {
            let counts: Vec<u64> = route.buckets.iter().map(get).collect();
            if counts.iter().all(|&c| c == 0) {
                continue;
            }
            let mut sum = 0;
            let ends = BOUNDS.iter().map(|&b| (b as f64 / 1e6).to_string()).chain(std::iter::once("+Inf".to_owned()));
            for (count, end) in counts.iter().zip(ends) {
                sum += count;
                let _ = writeln!(out, "tamis_request_seconds_bucket{{path=\"{path}\",le=\"{end}\"}} {sum}");
            }
            let seconds = get(&route.microseconds) as f64 / 1e6;
            let _ = writeln!(out, "tamis_request_seconds_sum{{path=\"{path}\"}} {seconds}");
            let _ = writeln!(out, "tamis_request_seconds_count{{path=\"{path}\"}} {sum}");
        }
        out
    }
}

/// Memory of this process, where the system tells.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kb| kb * 1024)
}

//! `tamis serve`: models as a service, with a page to try them.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use tamis_serve::{Limits, Log, ModelSource, Options};

use crate::corpus_args::size;
use crate::global::Global;

/// Serve models over HTTP, with a page on which anyone tries them and sees why.
///
/// The page is at /, the API under /v1/, its description at /openapi.json. A model file that is replaced is swapped in
/// without losing a request; a bad one is refused; SIGHUP has all of them read now. Ends on SIGTERM or Ctrl-C after finishing what is in flight.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Model files, as FILE or NAME=FILE; the first is used where a request names none.
    #[arg(value_name = "MODEL", required = true)]
    models: Vec<String>,
    /// Port; 0 takes any that is free.
    #[arg(short, long, value_name = "N", default_value_t = 8080)]
    port: u16,
    /// Address to listen on; anything but this machine's own wants a token.
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    bind: IpAddr,
    /// Further names under which the server may be reached, besides localhost; for use behind a proxy.
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// File whose first line clients must send as `Authorization: Bearer …`; the variable TAMIS_TOKEN does the same.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Listen beyond this machine although there is no token.
    #[arg(long)]
    open: bool,
    /// Folder of a study; its report is the page's second tab.
    #[arg(long, value_name = "DIR")]
    study: Option<PathBuf>,
    /// How often model files are looked at, in seconds; 0 for never.
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = seconds)]
    reload: f64,
    /// Log every request: id, path, status, time; never the text.
    #[arg(long)]
    access_log: bool,
    /// Log the beginnings of texts too.
    #[arg(long)]
    log_texts: bool,
    /// Logs as JSON lines.
    #[arg(long)]
    pub(crate) json_log: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
struct LimitArgs {
    /// Most bytes of a request, and of a line of a stream.
    #[arg(long, value_name = "SIZE", default_value = "8M", value_parser = size)]
    max_body: usize,
    /// Most bytes of an answer to documents; streams have no such limit.
    #[arg(long, value_name = "SIZE", default_value = "32M", value_parser = size)]
    max_answer: usize,
    /// Most bytes of requests and answers that are held at the same time, besides 64K for each connection.
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = size)]
    buffers: usize,
    /// Bytes a second that a client must send, or take, while the server waits for it; 0 cuts only those that stand still.
    #[arg(long, value_name = "N", default_value_t = 100)]
    min_rate: u64,
    /// Most documents of a request; streams have no such limit.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    max_batch: usize,
    /// Most seconds a request may take.
    #[arg(long, value_name = "S", default_value_t = 30.0, value_parser = seconds)]
    max_time: f64,
    /// Requests that compute at the same time; 0 takes one for each thread.
    #[arg(long, value_name = "N", default_value_t = 0)]
    concurrency: usize,
    /// Requests that may wait; more are answered 429.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    queue: usize,
    /// Most open connections; some more are kept for health checks.
    #[arg(long, value_name = "N", default_value_t = 8192)]
    connections: usize,
    /// Seconds a client has for the head of a request, and a connection may be idle.
    #[arg(long, value_name = "S", default_value_t = 15.0, value_parser = seconds)]
    head_time: f64,
    /// Seconds the server goes on accepting after it was told to end.
    #[arg(long, value_name = "S", default_value_t = 0.5, value_parser = seconds)]
    drain: f64,
    /// Seconds it then waits for what is in flight.
    #[arg(long, value_name = "S", default_value_t = 30.0, value_parser = seconds)]
    grace: f64,
}

fn seconds(text: &str) -> anyhow::Result<f64> {
    match text.trim().parse::<f64>() {
        Ok(s) if (0.0..=86_400.0).contains(&s) => Ok(s),
        _ => bail!("{text:?} is not a number of seconds from 0 to 86400"),
    }
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<()> {
    let token = token(args.token_file.as_ref())?;
    if !args.bind.is_loopback() && token.is_none() && !args.open {
        bail!(
            "--bind {} can be reached from other machines: give a token with --token-file FILE or TAMIS_TOKEN, or say --open",
            args.bind
        );
    }
    if let Some(folder) = &args.study
        && !folder.is_dir()
    {
        bail!("--study {}: no such folder", folder.display());
    }
    let models = args.models.iter().map(|m| ModelSource::parse(m)).collect::<tamis::Result<_>>()?;
    let threads = rayon::current_num_threads();
    let l = &args.limits;
    let options = Options {
        bind: SocketAddr::new(args.bind, args.port),
        hosts: args.host,
        token,
        study: args.study,
        reload: Duration::from_secs_f64(args.reload),
        drain: Duration::from_secs_f64(l.drain),
        grace: Duration::from_secs_f64(l.grace),
        access_log: args.access_log || args.log_texts,
        log_texts: args.log_texts,
        threads,
        limits: Limits {
            body: l.max_body,
            batch: l.max_batch,
            time: Duration::from_secs_f64(l.max_time),
            concurrency: if l.concurrency == 0 { threads } else { l.concurrency },
            queue: l.queue,
            head: Duration::from_secs_f64(l.head_time.max(0.1)),
            connections: l.connections,
            rate: l.min_rate,
            answer: l.max_answer,
            memory: l.buffers,
            ..Limits::default()
        },
        ..Options::new(models)
    };
    let quiet = global.quiet;
    tamis_serve::run(options, |address, names| {
        if !quiet {
            greet(address, names);
        }
    })?;
    Ok(())
}

fn greet(address: SocketAddr, names: &[String]) {
    Log::stderr().put(format!("tamis serves {} on http://{address}/\n", names.join(", ")).as_bytes());
}

/// The token, from a file or the environment: not from the command line, where every user of the machine sees it.
fn token(file: Option<&PathBuf>) -> anyhow::Result<Option<String>> {
    let text = match file {
        Some(file) => Some(std::fs::read_to_string(file).map_err(|e| tamis::Error::io(file, e))?),
        None => std::env::var("TAMIS_TOKEN").ok(),
    };
    let Some(text) = text else { return Ok(None) };
    let token = text.lines().next().unwrap_or_default().trim().to_owned();
    if token.len() < 16 || !token.chars().all(|c| c.is_ascii_graphic()) {
        bail!(
            "a token has 16 or more letters, digits and signs, and no blanks; `openssl rand -hex 24` makes a good one"
        );
    }
    Ok(Some(token))
}

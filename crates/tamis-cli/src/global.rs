//! Options that every command has.

use clap::{ArgAction, Args, ValueEnum};
use tamis_serve::Log;

use crate::progress::Bar;

/// When to use colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What log lines look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Logging {
    /// Warnings for a person who waits.
    Command,
    /// With times, and also what is not a warning.
    Service,
    /// The same as JSON lines.
    ServiceJson,
}

/// Options that every command has.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Threads to use; 0 takes one for each core. Results do not depend on it.
    #[arg(long, global = true, default_value_t = 0, value_name = "N")]
    pub(crate) threads: usize,
    /// Seed of everything random; 1 when not given, or what the plan of a study says.
    #[arg(long, global = true, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Say more on standard error; twice for details.
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Say nothing but errors, and show no progress.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Colours in messages and tables.
    #[arg(long, global = true, value_enum, default_value_t)]
    pub(crate) color: Color,
}

impl Global {
    /// The seed given, or the usual one.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    /// Threads, logging and colours.
    pub(crate) fn set_up(&self, logging: Logging) -> anyhow::Result<()> {
        let most = most_threads();
        rayon::ThreadPoolBuilder::new().num_threads(self.threads.min(most)).build_global()?;
        let level = match (self.quiet, self.verbose) {
            (true, _) => tracing::Level::ERROR,
            (false, 0) if logging == Logging::Command => tracing::Level::WARN,
            (false, 0 | 1) => tracing::Level::INFO,
            (false, _) => tracing::Level::DEBUG,
        };
        let lines = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_ansi(self.colors_on_stderr())
            // It would say so on standard error, and end the program when that cannot be written either.
            .log_internal_errors(false)
            .with_target(false);
        match logging {
            Logging::Command => lines.with_writer(std::io::stderr).without_time().init(),
            Logging::Service => lines.with_writer(Log::stderr).init(),
            Logging::ServiceJson => lines.with_writer(Log::stderr).json().flatten_event(true).init(),
        }
        if self.threads > most {
            tracing::warn!("--threads {}: more than {most} do not help this machine, so many are used", self.threads);
        }
        Ok(())
    }

    /// A progress bar that also knows of Ctrl-C; invisible when standard error is not a terminal or with `-q`.
    pub(crate) fn progress(&self) -> Bar {
        Bar::new(!self.quiet)
    }

    fn colors_on_stderr(&self) -> bool {
        use std::io::IsTerminal;
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => std::env::var_os("NO_COLOR").is_none() && std::io::stderr().is_terminal(),
        }
    }

    /// Whether tables on standard output may have colours.
    pub(crate) fn colors_on_stdout(&self) -> bool {
        use std::io::IsTerminal;
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => std::env::var_os("NO_COLOR").is_none() && std::io::stdout().is_terminal(),
        }
    }
}

/// Threads beyond this only take memory: four for each core, and 32 on small machines, so that runs there can be compared with
/// those of larger ones.
fn most_threads() -> usize {
    std::thread::available_parallelism().map_or(32, |cores| 4 * cores.get()).max(32)
}

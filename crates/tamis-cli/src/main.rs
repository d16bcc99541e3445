//! The `tamis` command: parse, make one library call, print, translate the error.

mod columns;
mod commands;
mod corpus_args;
mod global;
mod interrupt;
mod output;
mod progress;
mod settings;

use std::process::ExitCode;

use clap::Parser;

use crate::commands::Command;
use crate::global::Global;

/// Text categorisation you can read: find the few words that matter, train small classifiers, set their thresholds well.
#[derive(Parser)]
#[command(name = "tamis", version, propagate_version = true, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done; 1 the machine failed (disk, memory, interrupted), or a part of the shards; \
2 the input or the command line is at fault, and the message says where.";

/// The exit code when the machine failed or somebody stopped the work.
pub(crate) const FAILED: u8 = 1;

fn main() -> ExitCode {
    let Cli { global, command } = Cli::parse();
    // The server ends gracefully by itself.
    if command.logging() == global::Logging::Command {
        interrupt::listen(matches!(command, Command::Study(_)));
    }
    let result = global.set_up(command.logging()).and_then(|()| command.run(&global));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::print_error(&error);
            ExitCode::from(exit_code(&error))
        }
    }
}

/// 2 when the user can mend it, 1 when not.
fn exit_code(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<tamis::Error>() {
        Some(error) if !error.is_input() => FAILED,
        Some(_) => 2,
        None if error.downcast_ref::<commands::Incomplete>().is_some() => FAILED,
        None if error.downcast_ref::<std::io::Error>().is_some() => FAILED,
        None => 2,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }

    #[test]
    fn every_flag_that_a_message_can_name_exists() {
        let mut command = super::Cli::command();
        // Global options reach the subcommands when it is built.
        command.build();
        let commands = || std::iter::once(&command).chain(command.get_subcommands());
        let flags: Vec<String> = commands()
            .flat_map(clap::Command::get_arguments)
            .filter_map(|argument| argument.get_long().map(|name| format!("--{name}")))
            .collect();
        for option in tamis::OPTIONS {
            let flag = super::output::flag(option);
            assert!(flags.contains(&flag), "{flag} does not exist");
        }
    }

    #[test]
    fn options_in_messages_are_flags() {
        let message = "raise the option `max_record`, give the option `date_field=` or the option `quotes=false`";
        let expected = "raise --max-record, give --date-field \"\" or --quotes false";
        assert_eq!(super::output::flags(message), expected);
        assert_eq!(super::output::flags("the option `set=a b`: no"), "--set \"a b\": no");
    }
}

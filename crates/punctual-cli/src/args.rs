//! The command line, as clap reads it. Flags win over `PUNCTUAL_*` variables, these over the file.

use crate::file::units;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  punctual run examples/day.toml                   run a batch, show progress, print a report
  punctual run examples/day.toml --svg day.svg     .. and draw who worked when
  ls *.png | punctual run -j 8 -- optipng {}       a command for each line of standard input
  punctual check jobs.toml                         what is wrong in a file, where, and how to mend it
  punctual serve jobs.toml                         run its schedules, with a page and /metrics
  punctual cron '0 9 * * MON-FRI' --tz Asia/Seoul  what a cron text means, and its next runs

Exit codes: 0 done, 1 a task failed, 2 wrong arguments, 3 wrong file, 4 address cannot be used, 130 interrupted.
The file is described in docs/program.md.";

/// Runs batches and schedules from a file: priorities, limits, retries, timeouts, a report and a page.
#[derive(Debug, Parser)]
#[command(name = "punctual", version, after_help = EXAMPLES, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Write data as JSON on standard output
    #[arg(long, global = true, env = "PUNCTUAL_JSON", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) json: bool,
    /// When to use colours
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "auto",
        env = "PUNCTUAL_COLOR"
    )]
    pub(crate) color: When,
}

/// When something is done that fits a terminal only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a batch from a file, or a command for each item on standard input
    Run(RunArgs),
    /// Run the schedules of a file, with a page and /metrics
    Serve(ServeArgs),
    /// Look for mistakes in a file, and do nothing else
    Check(CheckArgs),
    /// Say what a cron text means, and when it runs next
    Cron(CronArgs),
    /// Measure this machine with our own pools
    Bench(BenchArgs),
    /// Open the page of a dump
    View(ViewArgs),
    /// A tour of the library: about a second, every feature at work
    Tour,
    /// Write a completion script for a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// The part of `serve` that does the work; started by it.
    #[command(hide = true, name = "serve-inside")]
    ServeInside(ServeArgs),
}

#[derive(Debug, Clone, Args)]
#[command(
    override_usage = "punctual run [OPTIONS] FILE\n       punctual run [OPTIONS] -- COMMAND [ARGUMENTS with {}]"
)]
pub(crate) struct RunArgs {
    /// The TOML file with the batch
    #[arg(required_unless_present = "command", conflicts_with = "command")]
    pub(crate) file: Option<PathBuf>,
    /// How many tasks run at a time; for a file: the threads of each pool
    #[arg(short, long, value_name = "N", env = "PUNCTUAL_JOBS", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) jobs: Option<u16>,
    /// Start nothing new after the first failure
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Draw who worked when, into this SVG file
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub(crate) svg: Option<PathBuf>,
    /// Serve a page of it while it runs, at this address; without one at 127.0.0.1:7070
    #[arg(
        long,
        value_name = "ADDRESS",
        num_args = 0..=1,
        default_missing_value = "127.0.0.1:7070",
        require_equals = true,
        conflicts_with = "command",
        env = "PUNCTUAL_DASHBOARD"
    )]
    pub(crate) dashboard: Option<String>,
    /// How progress is shown on standard error: a bar on a terminal, lines elsewhere
    #[arg(long, value_enum, default_value = "auto", env = "PUNCTUAL_PROGRESS")]
    pub(crate) progress: Progress,
    /// Which tasks' output is shown on standard error, when they have ended
    #[arg(
        long,
        value_enum,
        default_value = "failed",
        conflicts_with = "command",
        env = "PUNCTUAL_SHOW"
    )]
    pub(crate) show: Show,
    /// Items end with a zero byte, not with a line break
    #[arg(short = '0', long = "null")]
    pub(crate) null: bool,
    /// Write the output in the order of the items
    #[arg(short, long)]
    pub(crate) keep_order: bool,
    /// Let commands write to standard output themselves: lines of different items may mix
    #[arg(short, long, conflicts_with = "keep_order")]
    pub(crate) ungroup: bool,
    /// End a command that takes longer: terminate it, and kill it after the grace
    #[arg(long, value_name = "DURATION", value_parser = units::duration, env = "PUNCTUAL_TIMEOUT")]
    pub(crate) timeout: Option<Duration>,
    /// From the polite signal to the other one
    #[arg(long, value_name = "DURATION", value_parser = units::duration, default_value = "5s", env = "PUNCTUAL_GRACE")]
    pub(crate) grace: Duration,
    /// How often a command that fails is run again
    #[arg(long, value_name = "N", default_value_t = 0, env = "PUNCTUAL_RETRIES")]
    pub(crate) retries: u32,
    /// A command and its arguments. `{}` is the item, `{.}` without its ending, `{/}` without its folder, `{#}` its number;
    /// without any of them the item is the last argument
    #[arg(last = true)]
    pub(crate) command: Vec<OsString>,
}

impl RunArgs {
    /// A flag for items, if one was given; clap cannot say that they need a command, which excludes a file.
    pub(crate) fn only_for_items(&self) -> Option<&'static str> {
        let flags = [
            (self.null, "--null"),
            (self.keep_order, "--keep-order"),
            (self.ungroup, "--ungroup"),
        ];
        flags.into_iter().find(|(given, _)| *given).map(|(_, name)| name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Progress {
    Auto,
    Bar,
    Lines,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Show {
    All,
    Failed,
    None,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ServeArgs {
    /// The TOML file with the schedules
    pub(crate) file: PathBuf,
    /// The address of the page and of /metrics; wins over `bind` in the file
    #[arg(long, value_name = "ADDRESS", env = "PUNCTUAL_BIND")]
    pub(crate) bind: Option<String>,
    /// Serve no page and no /metrics
    #[arg(long, conflicts_with = "bind")]
    pub(crate) no_page: bool,
    /// How long running tasks may go on after the first signal to end
    #[arg(long, value_name = "DURATION", value_parser = units::duration, default_value = "30s", env = "PUNCTUAL_DRAIN")]
    pub(crate) drain: Duration,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct CheckArgs {
    /// The TOML files
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Warnings are errors
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct CronArgs {
    /// The cron text: five fields (minute first) or six (second first), or a shorthand such as @daily
    pub(crate) expression: String,
    /// The time zone, by its IANA name; UTC without it
    #[arg(long, value_name = "ZONE", env = "PUNCTUAL_TZ")]
    pub(crate) tz: Option<String>,
    /// How many runs are shown
    #[arg(short, long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(0..=10_000))]
    pub(crate) number: u16,
    /// From when on; now without it
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
    /// A day must match both day fields if both are given, as in Spring
    #[arg(long)]
    pub(crate) spring: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct BenchArgs {
    /// Less of everything: a second instead of ten
    #[arg(long)]
    pub(crate) quick: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ViewArgs {
    /// The dump, as `Dump::to_json` or the page writes it
    pub(crate) dump: PathBuf,
    /// Where the page is served
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:7071",
        env = "PUNCTUAL_VIEW"
    )]
    pub(crate) bind: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_command_comes_after_two_dashes_and_excludes_a_file() {
        let cli =
            Cli::try_parse_from(["punctual", "run", "-j", "8", "--", "cp", "{}", "-k"]).expect("a command");
        let Some(Command::Run(run)) = cli.command else {
            panic!("{cli:?}")
        };
        assert_eq!(run.command, ["cp", "{}", "-k"]);
        assert!(!run.keep_order && run.file.is_none());
        for words in [
            &["run"][..],
            &["run", "a.toml", "--", "cp"],
            &["run", "-j", "0", "--", "x"],
            &["run", "--grace", "5", "a.toml"],
        ] {
            let words = [&["punctual"][..], words].concat();
            assert!(Cli::try_parse_from(words.clone()).is_err(), "{words:?}");
        }
    }
}

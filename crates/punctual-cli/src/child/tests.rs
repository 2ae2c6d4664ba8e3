//! Real processes: ends, output, timeouts that reach grandchildren.

use super::capture::Capture;
use super::*;
use std::ffi::OsString;

const LONG: Duration = Duration::from_secs(60);

fn shell<'a>(arguments: &'a [&'a OsStr]) -> Spec<'a> {
    Spec {
        program: OsStr::new("/bin/sh"),
        arguments,
        env: None,
        told: None,
        cwd: None,
        stdin: None,
        reads: true,
        timeout: None,
        grace: LONG,
        measures: false,
    }
}

fn run_shell(script: &str, change: impl FnOnce(&mut Spec<'_>)) -> (Ended, Capture) {
    let script = OsString::from(script);
    let arguments = [OsStr::new("-c"), &script];
    let mut spec = shell(&arguments);
    change(&mut spec);
    let mut capture = Capture::new(1 << 20);
    let ended = run(&spec, &Token::new(), &mut capture);
    (ended, capture)
}

#[test]
fn ends_are_told_apart() {
    assert_eq!(run_shell("exit 0", |_| ()).0.end, End::Exited(0));
    assert_eq!(run_shell("exit 7", |_| ()).0.end, End::Exited(7));
    assert_eq!(run_shell("kill -9 $$", |_| ()).0.end, End::Signalled(9));
}

#[test]
fn both_outputs_are_read_to_their_end() {
    let (ended, capture) = run_shell(
        "echo out; echo err >&2; head -c 300000 /dev/zero | tr '\\0' x",
        |_| (),
    );
    assert_eq!(ended.end, End::Exited(0));
    assert_eq!(capture.total(), 300_008);
    assert!(capture.text().contains("out") && capture.text().contains("err"));
}

#[test]
fn what_cannot_be_started_says_why() {
    let no = |program: &str, cwd: Option<&Path>| {
        let spec = Spec {
            program: OsStr::new(program),
            cwd,
            ..shell(&[])
        };
        match run(&spec, &Token::new(), &mut Capture::new(10)).end {
            End::NotStarted(why) => why,
            end => panic!("{end:?}"),
        }
    };
    assert!(no("no-such-program-here", None).contains("there is no program \"no-such-program-here\""));
    assert!(no("/etc/passwd", None).contains("may not be run"));
    assert!(
        no("true", Some(Path::new("/no/such/folder"))).contains("its folder /no/such/folder is not there")
    );
}

#[test]
fn a_child_whose_own_child_holds_the_pipe_is_not_waited_for_longer_than_itself() {
    let begin = Instant::now();
    let (ended, capture) = run_shell("echo said; sleep 100 & exit 3", |_| ());
    assert_eq!(ended.end, End::Exited(3));
    assert_eq!(capture.text(), "said");
    assert!(begin.elapsed() < LONG);
}

#[test]
fn a_token_that_fires_ends_the_whole_group_politely() {
    let token = Token::new();
    let fires = token.clone();
    struct Fire(Token, Capture);
    impl Sink for Fire {
        fn take(&mut self, bytes: &[u8], is_error: bool) {
            self.1.take(bytes, is_error);
            self.0.cancel();
        }
    }
    // By then the first sleep is a program: between fork and exec it is a shell that has the handler, and a signal
    // that comes in that moment is lost.
    let script = OsString::from("trap 'echo bye; exit 0' TERM; sleep 1000 & sleep 0.1; echo ready; wait");
    let arguments = [OsStr::new("-c"), &script];
    let mut sink = Fire(fires, Capture::new(100));
    let ended = run(&shell(&arguments), &token, &mut sink);
    assert_eq!(ended.end, End::Stopped);
    assert_eq!(sink.1.text(), "ready\nbye");
}

#[test]
fn processor_time_is_measured() {
    let (ended, _) = run_shell("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done", |spec| {
        spec.measures = true
    });
    assert!(ended.cpu.is_some_and(|cpu| cpu > Duration::ZERO), "{ended:?}");
}

//! When it was not the card: the machine's own memory.

use super::failures::{before, line_at};
use super::scan::{after, head, number, size, size_after};
use super::{Failure, Host, Kind};

const fn killed_by(host: Host) -> Failure {
    Failure::new(Kind::Host(host))
}

/// `DefaultCPUAllocator: can't allocate memory: you tried to allocate 3077222400 bytes.`, `Unable to allocate 2.00 GiB
/// for an array with shape (…) and data type float32`.
pub(super) fn refused(text: &str, position: usize) -> Option<Failure> {
    let rest = head(&text[position..], 200);
    let mut failure = killed_by(Host::Refused);
    failure.asked = Some(size(after(rest, "allocate ")?)?.0);
    let array = after(rest, "array with shape (").and_then(|rest| rest.split_once(')'));
    if let Some((axes, rest)) = array {
        let axes: Option<Vec<u64>> = axes
            .split(',')
            .filter(|axis| !axis.trim().is_empty())
            .map(|axis| axis.trim().parse().ok())
            .collect();
        let kind =
            after(rest, "data type ").unwrap_or_default().split_whitespace().next().unwrap_or_default();
        failure.shape = axes.map(|axes| (axes, kind.to_owned()));
    }
    Some(failure)
}

/// The shell's `Killed` on a line of its own or before the command, and the kernel's
/// `Out of memory: Killed process 25315 (python3) total-vm:53312244kB, anon-rss:31451456kB, …`.
pub(super) fn killed(text: &str, position: usize) -> Option<Failure> {
    let lead = before(text, position, 60);
    let lead = lead.rsplit('\n').next().unwrap_or(lead);
    let rest = head(&text[position..], 260);
    if let Some(process) = rest.strip_prefix("Killed process ") {
        let mut failure = killed_by(Host::Killed);
        let held = size_after(process, "anon-rss:");
        failure.in_use = held;
        return Some(failure);
    }
    let line = rest.lines().next().unwrap_or_default();
    let alone = line.trim_end() == "Killed" && lead.trim().is_empty();
    // `script.sh: line 28:  8156 Killed                  python3 main.py`
    let by_shell = lead.contains("line ") && lead.trim_end().ends_with(|c: char| c.is_ascii_digit());
    (alone || by_shell).then(|| killed_by(Host::Killed))
}

/// `DataLoader worker (pid 325) is killed by signal: Killed.`, or `Bus error`: too little shared memory.
pub(super) fn worker(text: &str, position: usize) -> Option<Failure> {
    let rest = head(&text[position + "illed by signal: ".len()..], 40);
    if rest.starts_with("Bus error") {
        return Some(killed_by(Host::Shared));
    }
    rest.starts_with("Killed").then(|| killed_by(Host::Killed))
}

/// torchrun: `failed (exitcode: -9) local_rank: 0 (pid: 62498)` and `exitcode  : -9 (pid: 27657)`.
pub(super) fn exit(text: &str, position: usize) -> Option<Failure> {
    let rest = head(&text[position + "exitcode".len()..], 80);
    let code = rest.trim_start_matches([' ', ':']);
    if !code.starts_with("-9") {
        return None;
    }
    Some(Failure { rank: after(rest, "local_rank:").and_then(number), ..killed_by(Host::Killed) })
}

/// `Signal 9 (SIGKILL) received by PID 27657`; a launcher that kills the others itself says so in other words.
pub(super) fn sigkill(text: &str, position: usize) -> Option<Failure> {
    let line = line_at(text, position);
    let received = line.contains("received by PID") || line.contains("Signals.SIGKILL");
    received.then(|| killed_by(Host::Killed))
}

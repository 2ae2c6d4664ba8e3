//! Which types may be sent and shared: a public promise, so the compiler checks it here.

use punctual::task::{Cancelled, CurrentTask, Token};
use punctual::{
    Cancel, Capacity, Clock, CloseReport, ConfigError, Executor, Histogram, JoinError, LevelStats,
    ManualClock, OnDrop, Pool, PoolBuilder, Priority, Queue, Reason, RejectCounts, Rejected, Size, State,
    Stats, Status, TaskBuilder, TaskHandle, TaskInfo, TaskRef, Unrun, WeakExecutor,
};
use std::cell::Cell;
use std::error::Error;
use std::fmt::Debug;

fn shared<T: Send + Sync>() {}
fn sent<T: Send>() {}
fn shown<T: Debug>() {}
fn cloned<T: Clone>() {}
fn raised<T: Error + Send + Sync + 'static>() {}
fn anywhere<T: Unpin>() {}

#[test]
fn public_types_can_be_sent_and_shared() {
    shared::<Pool>();
    shared::<Executor>();
    shared::<WeakExecutor>();
    shared::<TaskRef>();
    shared::<Token>();
    shared::<CurrentTask>();
    shared::<Clock>();
    shared::<ManualClock>();
    shared::<Stats>();
    shared::<LevelStats>();
    shared::<RejectCounts>();
    shared::<Histogram>();
    shared::<CloseReport>();
    shared::<TaskInfo<'static>>();
    shared::<(
        State,
        Status,
        Cancel,
        Capacity,
        OnDrop,
        Priority,
        Queue,
        Size,
        Reason,
    )>();
    shared::<TaskHandle<String>>();
    // A value that may be sent but not shared can still be waited for from two threads: nobody sees it but the taker.
    shared::<TaskHandle<Cell<u8>>>();
    shared::<Rejected<Cell<u8>>>();
    sent::<PoolBuilder>();
    sent::<TaskBuilder<'static, fn()>>();
    sent::<Unrun>();
}

#[test]
fn handles_are_moved_freely_whatever_they_are_a_receipt_for() {
    anywhere::<TaskHandle<std::marker::PhantomPinned>>();
    assert_eq!(size_of::<TaskHandle<[u64; 100]>>(), size_of::<usize>());
}

#[test]
fn errors_are_errors_that_can_cross_threads() {
    raised::<ConfigError>();
    raised::<JoinError>();
    raised::<Cancelled>();
    raised::<Rejected<Cell<u8>>>();
    raised::<Rejected<Vec<Cell<u8>>>>();
}

#[test]
fn owners_references_and_data_can_be_cloned_and_shown() {
    cloned::<Pool>();
    cloned::<Executor>();
    cloned::<WeakExecutor>();
    cloned::<TaskRef>();
    cloned::<Token>();
    cloned::<CurrentTask>();
    cloned::<Clock>();
    cloned::<ManualClock>();
    cloned::<Stats>();
    cloned::<ConfigError>();
    shown::<(
        Pool,
        Executor,
        WeakExecutor,
        TaskRef,
        Token,
        CurrentTask,
        Clock,
        ManualClock,
    )>();
    shown::<(
        PoolBuilder,
        TaskBuilder<'static, fn()>,
        TaskHandle<Opaque>,
        Unrun,
        Rejected<Opaque>,
    )>();
}

/// Neither closure nor value need to be shown for a handle or a refusal to be.
struct Opaque;

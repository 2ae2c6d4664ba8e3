//! Models of the queue: producers, consumers and a canceller, across the border of a segment.

use super::fifo::Fifo;
use super::gate::{Entry, Gate, Verdict};
use crate::base::settings::{Capacity, Size};
use crate::sync::{Arc, Weak};
use crate::task::cell::{PlaceTag, Scheduler, SchedulerRef, TaskHeader};
use crate::task::reference::{Cancel, JoinRef, PinnedCell};
use crate::task::runnable::{Runnable, make_joinable};
use crate::task::state::End;

struct Queue {
    anchor: Weak<dyn Scheduler>,
    fifo: Fifo,
}

impl Queue {
    fn new() -> Arc<Self> {
        let mut gate = Gate::new(Size::fixed(1, Capacity::Unbounded));
        gate.threads = 1;
        Arc::new_cyclic(|me: &Weak<Queue>| Queue {
            anchor: me.clone(),
            fifo: Fifo::new(gate),
        })
    }

    fn push(&self, number: usize) -> JoinRef<usize> {
        let (task, receipt) = make_joinable(SchedulerRef::new(&self.anchor), move || number);
        let pushed = self.fifo.push(task, Entry::New);
        assert!(matches!(pushed, Ok(Verdict::Go)));
        receipt.accepted()
    }

    fn run_one(&self) -> bool {
        match self.fifo.pop() {
            Some(task) => {
                task.run(|_| ()).publish();
                true
            }
            None => false,
        }
    }
}

impl Scheduler for Queue {
    fn remove(&self, cell: &PinnedCell) -> Option<Runnable> {
        assert_eq!(cell.header().place(), PlaceTag::Ready);
        self.fifo.remove(cell)
    }

    fn before_end(&self, _: &TaskHeader, _: End) {}
}

#[test]
fn a_pushed_task_is_popped_once() {
    loom::model(|| {
        let queue = Queue::new();
        let consumer = queue.clone();
        let thread = loom::thread::spawn(move || (0..2).filter(|_| consumer.run_one()).count());
        // Three: the second segment begins with the last one.
        let mut handles: Vec<_> = (0..3).map(|number| queue.push(number)).collect();
        let taken = thread.join().unwrap();
        let left = std::iter::from_fn(|| queue.run_one().then_some(())).count();
        assert_eq!(taken + left, 3);
        for (number, handle) in handles.iter_mut().enumerate() {
            assert!(matches!(handle.take(), Ok(taken) if taken == number));
        }
        assert_eq!(queue.fifo.len(), 0);
    });
}

#[test]
fn a_canceller_meets_a_consumer() {
    loom::model(|| {
        let queue = Queue::new();
        let mut handles: Vec<_> = (0..3).map(|number| queue.push(number)).collect();
        let consumer = queue.clone();
        let thread = loom::thread::spawn(move || consumer.run_one());
        // All of the first segment: it leaves the chain if the consumer has not come to it.
        let cancelled: Vec<_> = handles[..2]
            .iter()
            .map(|handle| handle.reference().cancel())
            .collect();
        assert!(thread.join().unwrap());
        while queue.run_one() {}
        assert!(matches!(handles[2].take(), Ok(2)));
        for (number, (handle, cancel)) in handles.iter_mut().zip(cancelled).enumerate() {
            match cancel {
                Cancel::TooLate => {
                    assert!(matches!(handle.take(), Ok(taken) if taken == number));
                }
                _ => assert!(handle.take().is_err()),
            }
        }
        assert_eq!(queue.fifo.len(), 0);
    });
}

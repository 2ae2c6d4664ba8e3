//! What waits for what: circles, and an order in which everything comes after what it waits for.

use super::plan::Plan;
use super::problem::Problem;

/// Circles, one problem each.
pub(super) fn problems(plan: &Plan) -> Vec<Problem> {
    let mut left = left_over(plan);
    let mut problems = Vec::new();
    while let Some(start) = left.iter().position(|in_circle| *in_circle) {
        let circle = walk(plan, &left, start);
        let mut names: Vec<&str> = circle.iter().map(|task| &*plan.tasks[*task].group).collect();
        names.dedup();
        let first = circle.iter().copied().min().unwrap_or(start);
        names.push(names[0]);
        problems.push(Problem {
            code: "E021",
            what: format!("a circle: {}", names.join(" waits for ")),
            help: "none of them could ever start: take one name out of an `after`".to_owned(),
            bytes: plan.tasks[first].bytes.clone(),
        });
        for task in circle {
            left[task] = false;
        }
        // Those that only wait for the circle are no circle of their own.
        left = prune(plan, left);
    }
    problems
}

/// Which tasks lie in a circle, or behind one.
fn left_over(plan: &Plan) -> Vec<bool> {
    prune(plan, vec![true; plan.tasks.len()])
}

/// Takes out whatever waits for nothing that is still in.
fn prune(plan: &Plan, mut left: Vec<bool>) -> Vec<bool> {
    let mut waits: Vec<usize> = vec![0; plan.tasks.len()];
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); plan.tasks.len()];
    for (task, plan) in plan.tasks.iter().enumerate().filter(|(task, _)| left[*task]) {
        for before in plan.after.iter().filter(|before| left[**before]) {
            waits[task] += 1;
            next[*before].push(task);
        }
    }
    let mut free: Vec<usize> = (0..left.len())
        .filter(|task| left[*task] && waits[*task] == 0)
        .collect();
    while let Some(task) = free.pop() {
        left[task] = false;
        for after in &next[task] {
            waits[*after] -= 1;
            if waits[*after] == 0 {
                free.push(*after);
            }
        }
    }
    left
}

/// From a task to one it waits for, until one comes again.
fn walk(plan: &Plan, left: &[bool], start: usize) -> Vec<usize> {
    let mut path = vec![start];
    loop {
        let here = path[path.len() - 1];
        let before = plan.tasks[here]
            .after
            .iter()
            .copied()
            .find(|before| left[*before]);
        let Some(before) = before else {
            return path;
        };
        if let Some(begin) = path.iter().position(|task| *task == before) {
            return path.split_off(begin);
        }
        path.push(before);
    }
}

//! When the host itself calls a component, and for which of its tasks.

use std::time::Duration;

use im_domain::upkeep::Task;

use super::duration::parse_interval;
use super::raw;

/// One line of a component's schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleLine {
    pub interval: Duration,
    /// None: whatever there is to do.
    pub tasks: Vec<Task>,
}

/// Reads a schedule; without one nothing is called.
pub fn lines(raw: Option<raw::Schedule>) -> Result<Vec<ScheduleLine>, String> {
    match raw {
        None => Ok(Vec::new()),
        Some(raw::Schedule::Whole(every)) => Ok(vec![line(&every, &[])?]),
        Some(raw::Schedule::Parts(parts)) => parts.iter().map(part).collect(),
    }
}

fn part(raw: &raw::SchedulePart) -> Result<ScheduleLine, String> {
    match raw.tasks.as_deref() {
        None => line(&raw.every, &[]),
        Some([]) => Err("`tasks` is empty: leave it out for all tasks".into()),
        Some(tasks) => line(&raw.every, tasks),
    }
}

fn line(every: &str, tasks: &[String]) -> Result<ScheduleLine, String> {
    let interval = parse_interval(every)?;
    let mut line = ScheduleLine { interval, tasks: Vec::new() };
    for name in tasks {
        let task = Task::from_text(name).ok_or_else(|| no_task(name))?;
        if line.tasks.contains(&task) {
            return Err(format!("task `{name}` is given twice"));
        }
        line.tasks.push(task);
    }
    Ok(line)
}

fn no_task(name: &str) -> String {
    let names: Vec<&str> = Task::ALL.iter().map(|task| task.as_str()).collect();
    format!("no task `{name}`; there are {}", names.join(", "))
}

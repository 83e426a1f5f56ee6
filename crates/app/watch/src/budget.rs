//! When the shadow drives must be made coarser.

use std::collections::VecDeque;

use crate::snapshot::Own;

/// Snapshots whose mean is held against the limit (our choice: a minute of the usual ten seconds).
const SNAPSHOTS: usize = 6;

/// Budget of the watcher.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// Share of one processor.
    pub cpu: Option<f64>,
    /// Bytes, of the process and of what the kernel holds for its probes.
    pub memory_bytes: Option<u64>,
}

/// The exceeded part of the budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Excess {
    /// Processor time: the share of one that was used.
    Cpu(f64),
    /// Memory, bytes.
    Memory(u64),
}

/// Holds what is used against the limits.
#[derive(Debug, Clone)]
pub struct Budget {
    limits: Limits,
    recent: VecDeque<Own>,
}

impl Budget {
    /// A budget that nothing was used of.
    pub fn new(limits: Limits) -> Budget {
        Budget {
            limits,
            recent: VecDeque::new(),
        }
    }

    /// Judges the last `SNAPSHOTS`; after an answer it begins anew, so that what was changed shows.
    pub fn judge(&mut self, own: &Own) -> Option<Excess> {
        self.recent.push_back(*own);
        if self.recent.len() < SNAPSHOTS {
            return None;
        }
        let count = self.recent.len() as f64;
        let cpu = self.recent.iter().map(|own| own.cpu).sum::<f64>() / count;
        let memory = |own: &Own| own.memory_bytes.saturating_add(own.kernel_bytes);
        // The least of the recent figures: a short peak is no excess.
        let least = self.recent.iter().map(memory).min().unwrap_or(0);
        self.recent.pop_front();
        let excess = match self.limits {
            Limits {
                memory_bytes: Some(most),
                ..
            } if least > most => Excess::Memory(least),
            Limits {
                cpu: Some(most), ..
            } if cpu > most => Excess::Cpu(cpu),
            _ => return None,
        };
        self.recent.clear();
        Some(excess)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(cpu: f64, memory_bytes: u64) -> Own {
        Own {
            cpu,
            memory_bytes,
            kernel_bytes: 100,
            ..Own::default()
        }
    }

    #[test]
    fn what_lasts_is_too_much_and_a_peak_is_not() {
        let limits = Limits {
            cpu: Some(0.01),
            memory_bytes: Some(1000),
        };
        let mut budget = Budget::new(limits);
        // One peak in six is a mean below the limit.
        let peak = [0.03, 0.0, 0.0, 0.0, 0.0, 0.0];
        assert!(peak.iter().all(|cpu| budget.judge(&own(*cpu, 0)).is_none()));
        let answers: Vec<_> = (0..12)
            .filter_map(|_| budget.judge(&own(0.02, 0)))
            .collect();
        assert_eq!(answers.len(), 2, "{answers:?}");
        assert!(matches!(answers[1], Excess::Cpu(cpu) if (cpu - 0.02).abs() < 1e-9));
        let mut budget = Budget::new(limits);
        let memory: Vec<_> = (0..6)
            .filter_map(|_| budget.judge(&own(0.0, 901)))
            .collect();
        assert_eq!(memory, [Excess::Memory(1001)]);
        let mut free = Budget::new(Limits::default());
        assert!((0..20).all(|_| free.judge(&own(9.0, u64::MAX)).is_none()));
    }
}

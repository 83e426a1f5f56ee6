//! The settings that led, for a scheme that changes its setting while it runs.

/// A setting that leads from some time on.
#[derive(Debug, Clone, PartialEq)]
pub struct Leader {
    /// Logical time: pages the host had written.
    pub since_pages: u64,
    /// The name of the setting.
    pub setting: &'static str,
    /// The rule by which it took over.
    pub reason: LeaderReason,
    /// The costs of all settings when it took over; empty for the first leader.
    pub costs: Vec<SettingCost>,
}

/// Copies that a setting made and owes, scaled to the drive. Older ones count less.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SettingCost {
    /// The name of the setting.
    pub setting: &'static str,
    /// Pages copied and owed.
    pub pages: f64,
}

/// The rule by which a setting takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaderReason {
    /// It is the first of the settings.
    First,
    /// The rules over files' names matched too little of the data written, and no setting had won yet.
    RulesMatchLittle,
    /// The rules over files' names matched enough of the data written, and no setting had won yet.
    RulesMatch,
    /// It costs less than the leader, by the margin at least.
    Cheaper,
}

impl LeaderReason {
    /// The word that results have for it.
    pub fn name(self) -> &'static str {
        match self {
            LeaderReason::First => "first",
            LeaderReason::RulesMatchLittle => "rules-match-little",
            LeaderReason::RulesMatch => "rules-match",
            LeaderReason::Cheaper => "cheaper",
        }
    }
}

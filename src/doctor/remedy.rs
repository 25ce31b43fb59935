//! What a remedy is: a change of keys with its price.

use crate::config::{Config, Key};
use crate::estimate::Reserve;
use crate::text::Text;

/// What a change costs, from cheap to dear: first what leaves the result of training as it is, by its time; then
/// what does not, by how far it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Price {
    /// The same result, no slower.
    Free = 1,
    /// The same result, a little slower.
    Little,
    /// The same result, a good part of a step slower.
    Time,
    /// The same result, at the speed of the links between GPUs.
    Links,
    /// The same result, at the speed of the link to host memory.
    Host,
    /// The same recipe in fewer bits.
    Rounding,
    /// Another recipe, to be tuned again.
    Recipe,
    /// Something else is trained.
    Method,
}

impl Price {
    /// From cheap to dear.
    pub const ALL: [Self; 8] = [
        Self::Free,
        Self::Little,
        Self::Time,
        Self::Links,
        Self::Host,
        Self::Rounding,
        Self::Recipe,
        Self::Method,
    ];

    /// The report's word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Little => "little",
            Self::Time => "time",
            Self::Links => "links",
            Self::Host => "host",
            Self::Rounding => "rounding",
            Self::Recipe => "recipe",
            Self::Method => "method",
        }
    }

    /// Whether training comes to the same result.
    pub fn keeps_the_result(self) -> bool {
        self < Self::Rounding
    }
}

/// More time for a step, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slowdown {
    /// At least.
    pub low: u64,
    /// At most.
    pub high: u64,
}

/// A remedy: one row of the table.
#[derive(Debug)]
pub struct Remedy {
    /// Stable English id.
    pub id: &'static str,
    /// What to do; `{value}` is the number of a remedy that has one.
    pub name: Text,
    /// Its price in words.
    pub cost: Text,
    /// Its price among others.
    pub price: Price,
    /// More time for a step, where measured.
    pub slowdown: Option<Slowdown>,
    /// Who says so.
    pub source: &'static str,
    /// Whether people reach for it: said when it saves nothing, and part of searches.
    pub common: bool,
    /// Keys that it decides, where its action does not list them.
    pub(super) axes: &'static [Key],
    pub(super) action: Action,
    /// Whether there is anything to be had from it.
    pub(super) applies: fn(&Config) -> bool,
}

/// How it changes a configuration.
#[derive(Debug)]
pub(super) enum Action {
    /// Keys get these values.
    Set(&'static [(Key, &'static str)]),
    /// By a number: which ones are worth trying, the mildest first, and what each does.
    By { numbers: fn(&Config) -> Vec<u64>, apply: fn(&mut Config, u64) },
}

/// A remedy as it applies to one configuration.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// Which.
    pub remedy: &'static Remedy,
    /// Its number; 0 where it has none.
    pub number: u64,
}

impl Remedy {
    /// The keys that it decides: remedies that share one exclude each other.
    fn decides(&self, key: Key) -> bool {
        match self.action {
            Action::Set(values) => values.iter().any(|(decided, _)| *decided == key),
            Action::By { .. } => self.axes.contains(&key),
        }
    }
}

impl PartialEq for Change {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.remedy, other.remedy) && self.number == other.number
    }
}

impl Change {
    /// Makes the change.
    pub fn apply(&self, config: &mut Config) {
        match &self.remedy.action {
            Action::Set(values) => {
                for (key, value) in *values {
                    // The table's own values are accepted: a test sets each.
                    let _ = config.set(key.word(), value);
                }
            }
            Action::By { apply, .. } => apply(config, self.number),
        }
    }

    /// The configuration with all these changes, in this order.
    pub fn all(config: &Config, changes: &[Self]) -> Config {
        let mut config = config.clone();
        for change in changes {
            change.apply(&mut config);
        }
        config
    }

    /// Whether both decide the same key.
    pub fn excludes(&self, other: &Self) -> bool {
        Key::ALL.iter().any(|key| self.remedy.decides(*key) && other.remedy.decides(*key))
    }

    /// Whether what it does can be seen: what only the allocator notices takes a replay of it.
    pub(super) fn is_seen(&self, reserve: Reserve) -> bool {
        reserve == Reserve::Replayed || !self.remedy.decides(Key::ExpandableSegments)
    }

    /// More time for a step, where measured; by its number, which then is a percentage of the layers.
    pub fn slowdown(&self) -> Option<Slowdown> {
        let Slowdown { low, high } = self.remedy.slowdown?;
        let part = if self.number == 0 { 100 } else { self.number };
        Some(Slowdown { low: low * part / 100, high: (high * part).div_ceil(100) })
    }
}

/// What the table has for a configuration: every change that makes it another one.
pub fn changes(config: &Config) -> Vec<Change> {
    let mut all = Vec::new();
    for remedy in super::table::REMEDIES.iter().filter(|remedy| (remedy.applies)(config)) {
        let numbers = match &remedy.action {
            Action::Set(_) => vec![0],
            Action::By { numbers, .. } => numbers(config),
        };
        let changes = numbers.into_iter().map(|number| Change { remedy, number });
        all.extend(changes.filter(|change| Change::all(config, &[*change]) != *config));
    }
    all
}

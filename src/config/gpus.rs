//! The catalogue of cards (`gpus.csv`, with a source on each row).

use std::sync::OnceLock;

/// One card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Contract id, e.g. `a100-80g`.
    pub id: &'static str,
    /// Name for people.
    pub name: &'static str,
    /// Maker.
    pub vendor: &'static str,
    /// Memory in bytes (cards are sold in GB that mean GiB).
    pub memory: u64,
    /// Bytes that the driver reports, where known: error correction and firmware keep the rest.
    pub driver_memory: Option<u64>,
    /// Chip generation, e.g. `hopper`; decides library workspaces.
    pub architecture: &'static str,
    /// Where the figure comes from.
    pub source: &'static str,
}

impl Gpu {
    /// Bytes that a process can hope for: what the driver reports, else what is sold.
    pub fn usable(&self) -> u64 {
        self.driver_memory.unwrap_or(self.memory)
    }
}

static GPUS: OnceLock<Vec<Gpu>> = OnceLock::new();

/// Every card, in the catalogue's order.
pub fn gpus() -> &'static [Gpu] {
    GPUS.get_or_init(|| include_str!("gpus.csv").lines().filter_map(row).collect())
}

/// The card with this id.
pub fn gpu(id: &str) -> Option<&'static Gpu> {
    gpus().iter().find(|gpu| gpu.id == id)
}

/// Reads one row; comments and rows that do not hold seven fields are none (a test counts the rows).
fn row(line: &'static str) -> Option<Gpu> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = line.split(',');
    let mut next = || fields.next();
    let (id, name, vendor, architecture) = (next()?, next()?, next()?, next()?);
    let (memory, driver, source) = (next()?.parse::<u64>().ok()?, next()?, next()?);
    let driver_memory = if driver.is_empty() { None } else { Some(driver.parse::<u64>().ok()? << 20) };
    let memory = memory << 30;
    next().is_none().then_some(Gpu { id, name, vendor, memory, driver_memory, architecture, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read_and_sound() {
        let rows = include_str!("gpus.csv").lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(gpus().len(), rows);
        assert!(rows >= 40);
        for (i, card) in gpus().iter().enumerate() {
            assert!(gpus()[..i].iter().all(|other| other.id != card.id), "{} twice", card.id);
            assert!(card.id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
            assert!(card.source.starts_with("https://"), "{} has no source", card.id);
            assert!(!card.name.is_empty() && !card.vendor.is_empty() && !card.architecture.is_empty());
            assert!(card.memory >= 8 << 30 && card.memory <= 512 << 30, "{}", card.id);
            // The driver never reports more than is built in, and keeps at most a tenth.
            assert!(card.usable() <= card.memory && card.usable() >= card.memory / 10 * 9, "{}", card.id);
        }
    }

    #[test]
    fn cards_of_the_contract_and_of_published_measurements_exist() {
        for id in
            "a100-80g h100-80g b200-192g a100-40g rtx-4070-ti-super gb200-192g a10g-24g v100-16g rtx-3090 \
                   a800-80g l40s-48g rtx-4090 h200-141g h800-80g rtx-a6000 t4-16g h20-96g rtx-4090d"
                .split_whitespace()
        {
            assert!(gpu(id).is_some(), "{id}");
        }
        assert_eq!(gpu("a100-80g").map(|gpu| gpu.memory), Some(80 << 30));
        assert!(gpu("a100").is_none());
    }
}

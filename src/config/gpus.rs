//! The catalogue of cards (`gpus.csv`, with a source on each row).

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
    /// Chip generation, e.g. `hopper`; decides library workspaces.
    pub architecture: &'static str,
    /// Where the figure comes from.
    pub source: &'static str,
}

/// Every card, in the catalogue's order.
pub fn gpus() -> &'static [Gpu] {
    &[Gpu {
        id: "a100-80g",
        name: "NVIDIA A100 80 GB",
        vendor: "NVIDIA",
        memory: 80 << 30,
        architecture: "ampere",
        source: "",
    }]
}

/// The card with this id.
pub fn gpu(id: &str) -> Option<&'static Gpu> {
    gpus().iter().find(|gpu| gpu.id == id)
}

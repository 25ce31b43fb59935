//! Mounts the page in a browser; is the command line elsewhere.

#[cfg(target_arch = "wasm32")]
fn main() {}

#[cfg(not(target_arch = "wasm32"))]
fn main() -> std::process::ExitCode {
    trainmem::cli::main()
}

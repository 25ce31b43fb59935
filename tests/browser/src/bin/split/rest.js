
// The half of the program that a first visit doesn't run.
const restAddress = new URL("REST", import.meta.url);
let restModule;
let restIsHere = false;

// Asked for once, however many wait for it; again after a failure.
let restComing;
function compileRest() {
    return (restComing ??= fetchRest().catch((reason) => {
        restComing = undefined;
        throw reason;
    }));
}

async function fetchRest() {
    const answer = await fetch(restAddress);
    if (!answer.ok) throw new Error(`${restAddress}: ${answer.status}`);
    restModule ??= await WebAssembly.compile(await answer.arrayBuffer());
}

function linkRest() {
    if (restIsHere) return;
    new WebAssembly.Instance(restModule, { first: wasm });
    restIsHere = true;
}

// Called by the first half when it can't go on without: there is no other way to wait within a call.
function loadRest() {
    if (!restModule) {
        const request = new XMLHttpRequest();
        request.open("GET", restAddress, false);
        request.overrideMimeType("text/plain; charset=x-user-defined");
        request.send();
        restModule = new WebAssembly.Module(Uint8Array.from(request.responseText, (char) => char.charCodeAt(0)));
    }
    linkRest();
}

// Does the link ask for more than looks? Then the visit is not one of those that the halves were cut for.
function restIsNeeded() {
    const looks = ["v", "lang", "theme", "units", "embed", "hide"];
    const asks = (part = "") => [...new URLSearchParams(part.slice(1)).keys()].some((key) => !looks.includes(key));
    return asks(globalThis.location?.search) || asks(globalThis.location?.hash);
}

// Loads it ahead of need.
export async function rest() {
    await compileRest();
    linkRest();
}

// One small square per shard, drawn on a canvas; the details of a shard are requested from the server.

import { byId, choice, element, grouped } from "/words.js";

const STATES = [["d", "done"], ["c", "copying"], ["r", "running"], ["g", "fetching"], ["f", "failed"], ["w", "waiting"]];
const canvas = byId("shards");
let states = [], owners = [], names = () => "";
let byWorker = false, chosen = -1, isAsked = false, side = 10, columns = 1;

function colours() {
    const style = getComputedStyle(document.documentElement);
    return Object.fromEntries(STATES.map(([letter]) => [letter, style.getPropertyValue(`--${letter}`).trim()]));
}

/// Neighbouring numbers get colours far apart on the colour wheel.
function ofWorker(number, isDark) {
    return `hsl(${(number * 137.508) % 360} 62% ${isDark ? 62 : 46}%)`;
}

function draw() {
    isAsked = false;
    const width = canvas.clientWidth, ratio = window.devicePixelRatio || 1;
    if (width < 20) return;
    const count = Math.max(states.length, 1);
    // As large as fits into a few lines of text, but never too small to click.
    side = Math.min(22, Math.max(5, Math.floor(Math.sqrt(width * 260 / count))));
    columns = Math.max(1, Math.floor(width / side));
    const height = Math.ceil(count / columns) * side;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const fills = colours(), isDark = matchMedia("(prefers-color-scheme: dark)").matches;
    const gap = side > 7 ? 2 : 1;
    for (let shard = 0; shard < states.length; shard += 1) {
        const owned = byWorker && owners[shard] !== null && owners[shard] !== undefined;
        pen.fillStyle = owned ? ofWorker(owners[shard], isDark) : byWorker ? fills.w : fills[states[shard]];
        pen.fillRect((shard % columns) * side, Math.floor(shard / columns) * side, side - gap, side - gap);
    }
    if (chosen >= 0 && chosen < states.length) {
        pen.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--classes");
        pen.lineWidth = 2;
        pen.strokeRect((chosen % columns) * side, Math.floor(chosen / columns) * side, side - gap, side - gap);
    }
}

function ask() {
    if (!isAsked) {
        isAsked = true;
        requestAnimationFrame(draw);
    }
}

function legend() {
    const counts = {};
    for (const state of states) counts[state] = (counts[state] || 0) + 1;
    const items = STATES.filter(([letter]) => counts[letter]).map(([letter, word]) =>
        element("li", `${grouped(counts[letter])} ${word}`, letter));
    byId("shard-legend").replaceChildren(...items);
    const words = items.map((item) => item.textContent).join(", ");
    canvas.setAttribute("aria-label", `shards of the depth: ${words || "none"}`);
}

export function show(count, runs, naming) {
    if (naming) names = naming;
    if (count !== undefined) {
        states = new Array(count).fill("w");
        owners = new Array(count).fill(null);
    }
    for (const [first, length, letter, worker] of runs || []) {
        states.fill(letter, first, first + length);
        owners.fill(worker, first, first + length);
    }
    byId("shards-section").hidden = states.length === 0;
    legend();
    ask();
}

async function tell(shard) {
    chosen = shard;
    ask();
    byId("story").hidden = false;
    byId("story-title").textContent = `Shard ${grouped(shard)}`;
    let facts;
    try {
        const answer = await fetch(`/api/shards/${shard}`);
        facts = answer.ok ? await answer.json() : [["", "no details available"]];
    } catch {
        facts = [["", "the server does not respond"]];
    }
    if (facts.length === 0) facts = [["", "no details available"]];
    const worker = owners[shard];
    if (worker !== null && worker !== undefined) facts.push(["worker", names(worker)]);
    const items = facts.flatMap(([what, said]) => [element("dt", what), element("dd", said)]);
    byId("story-facts").replaceChildren(...items);
}

canvas.addEventListener("click", (event) => {
    const shard = Math.floor(event.offsetY / side) * columns + Math.floor(event.offsetX / side);
    if (event.offsetX / side < columns && shard < states.length) tell(shard);
});
canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns };
    if (event.key in steps) {
        chosen = Math.min(Math.max(chosen + steps[event.key], 0), states.length - 1);
        ask();
        event.preventDefault();
    } else if (event.key === "Enter" && chosen >= 0) {
        tell(chosen);
    }
});
choice("by-state", "by-worker", (button) => { byWorker = button === "by-worker"; ask(); });
new ResizeObserver(ask).observe(canvas.parentElement);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ask);

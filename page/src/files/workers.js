// The workers: one row each, with a line that shows the rates of the last two minutes.

import { byId, bytes, element, rate, say, time } from "/words.js";

const SVG = "http://www.w3.org/2000/svg";
const POINTS = 40, BETWEEN = 3000;
const body = byId("workers").tBodies[0];
const LABELS = Array.from(byId("workers").tHead.rows[0].cells, (cell) => cell.textContent);
const workers = [];
const seen = new Set();
/// Lines are drawn only where they are visible.
const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
        const worker = workers[Number(target.dataset.worker)];
        if (isIntersecting) { seen.add(worker); line(worker); } else seen.delete(worker);
    }
}, { rootMargin: "100px" });

function added() {
    const row = element("tr");
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "0 0 120 22");
    svg.setAttribute("class", "spark");
    svg.setAttribute("aria-hidden", "true");
    const polyline = document.createElementNS(SVG, "polyline");
    svg.append(polyline);
    // On a narrow screen a row is a card, where the label stands before each value.
    const cells = LABELS.map((label) => {
        const cell = element("td");
        cell.dataset.label = label;
        return cell;
    });
    cells[3].append(svg);
    row.append(...cells);
    row.dataset.worker = workers.length;
    body.append(row);
    watcher.observe(row);
    const worker = { row, cells, polyline, history: [], rate: 0 };
    workers.push(worker);
    return worker;
}

function line({ history, polyline }) {
    const most = Math.max(...history, 1);
    const step = 120 / (POINTS - 1);
    const begin = 120 - (history.length - 1) * step;
    polyline.setAttribute("points", history.map((value, at) => `${(begin + at * step).toFixed(1)},${(20 - 18 * value / most).toFixed(1)}`).join(" "));
}

export function show(rows, histories) {
    if (histories) {
        watcher.disconnect();
        seen.clear();
        workers.length = 0;
        body.replaceChildren();
    }
    for (const [number, id, name, address, presence, silent, threads, kernel, shards, states, sent, received, free, memory, read] of rows || []) {
        while (workers.length <= number) added();
        const worker = workers[number];
        Object.assign(worker, { name, presence, rate: states });
        const is = silent === null ? presence : `${presence} for ${time(silent)}`;
        const words = [name, is, rate(states), null, kernel ? `${threads} ${kernel}` : String(threads), String(shards),
            memory > 0 ? bytes(memory) : "–", bytes(read), bytes(sent), bytes(received), free > 0 ? bytes(free) : "–", address];
        words.forEach((word, at) => {
            if (word !== null && worker.cells[at].textContent !== word) worker.cells[at].textContent = word;
        });
        worker.cells[0].title = `${name} (${id})`;
        worker.cells[1].className = presence;
        worker.row.className = ["lost", "left"].includes(presence) ? "gone" : "";
    }
    if (histories) {
        histories.forEach((history, number) => { if (workers[number]) workers[number].history = history.slice(-POINTS); });
        seen.forEach(line);
    }
    byId("workers-section").hidden = workers.length === 0;
    const counts = new Map();
    for (const { presence } of workers) counts.set(presence, (counts.get(presence) || 0) + 1);
    say("workers-text", [...counts].map(([presence, count]) => `${count} ${presence}`).join(", "));
}

export function nameOf(number) {
    return workers[number] ? workers[number].name : String(number);
}

setInterval(() => {
    for (const worker of workers) {
        worker.history.push(worker.rate);
        if (worker.history.length > POINTS) worker.history.shift();
    }
    seen.forEach(line);
}, BETWEEN);

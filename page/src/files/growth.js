// The distribution as it grows: a plot, and a table.

import { about, byId, bytes, choice, element, grouped, percent, say, time } from "/words.js";

const SVG = "http://www.w3.org/2000/svg";
const LEFT = 64, BOTTOM = 34, TOP = 12, RIGHT = 8;
let growth = { depths: [], expected: [] };
let run = null;
let isLogarithmic = false;
const tip = element("div", "", "tip");
tip.hidden = true;

/// Every depth with its number of states: finished, in progress, or expected.
function bars() {
    const all = growth.depths.map((depth, at) => ({ at, count: Number(depth.states), digits: depth.states, kind: "known" }));
    growth.expected.forEach((count, at) => all.push({ at: at + growth.depths.length, count, kind: "expected" }));
    return all;
}

function drawn(name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
}

function ticks(most) {
    if (isLogarithmic) {
        const decades = Math.ceil(Math.log10(Math.max(most, 10)));
        const step = Math.ceil(decades / 6);
        return Array.from({ length: Math.floor(decades / step) + 1 }, (_, at) => 10 ** (at * step));
    }
    const step = 10 ** Math.floor(Math.log10(Math.max(most, 1)));
    const stride = most / step >= 5 ? step : most / step >= 2 ? step / 2 : step / 5;
    return Array.from({ length: Math.floor(most / stride) + 1 }, (_, at) => at * stride);
}

function short(number) {
    if (number === 0) return "0";
    const names = [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
    for (const [size, name] of names) if (number >= size * 0.9999) return `${+(number / size).toPrecision(3)} ${name}`;
    return String(+number.toPrecision(3));
}

function said(bar) {
    const exact = bar.kind === "known" ? grouped(bar.digits) : `about ${about(bar.count)}, expected`;
    return `depth ${bar.at}: ${exact}`;
}

export function draw() {
    const plot = byId("growth");
    const width = plot.clientWidth, height = plot.clientHeight, all = bars();
    if (width < 50) return;
    const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": "growth-text" });
    const most = Math.max(1, ...all.map((bar) => bar.count));
    const scale = (count) => {
        const share = isLogarithmic ? Math.log10(Math.max(count, 1) * 1.6) / Math.log10(most * 1.6) : count / most;
        return Math.max(share, 0) * (height - TOP - BOTTOM);
    };
    for (const tick of ticks(most)) {
        const y = height - BOTTOM - (isLogarithmic && tick === 1 ? 0 : scale(tick));
        if (y < TOP - 2) continue;
        svg.append(drawn("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y, y2: y }));
        svg.append(drawn("text", { x: LEFT - 8, y: y + 4, "text-anchor": "end" }, short(tick)));
    }
    const stride = (width - LEFT - RIGHT) / Math.max(all.length, 1);
    const label = Math.ceil(26 / stride);
    for (const bar of all) {
        const x = LEFT + bar.at * stride, tall = bar.count > 0 ? Math.max(scale(bar.count), 1) : 0;
        const field = drawn("rect", { class: "field", x, y: TOP, width: stride, height: height - TOP - BOTTOM });
        field.addEventListener("pointerenter", () => {
            tip.textContent = said(bar);
            tip.hidden = false;
            tip.style.left = `${Math.max(0, Math.min(x + stride / 2 - tip.offsetWidth / 2, width - tip.offsetWidth))}px`;
        });
        field.addEventListener("pointerleave", () => { tip.hidden = true; });
        const gap = Math.min(stride * 0.2, 6);
        const kind = run && bar.at === run.depth && bar.kind === "expected" ? "present" : bar.kind;
        const shape = { x: x + gap / 2, width: Math.max(stride - gap, 0.5), "pointer-events": "none" };
        svg.append(field);
        if (kind === "present") {
            // The states found so far are drawn in front of the expected ones.
            svg.append(drawn("rect", { ...shape, class: "mark expected", y: height - BOTTOM - tall, height: tall }));
            const found = Math.min(scale(Number(run.depth_states)), height - TOP - BOTTOM);
            svg.append(drawn("rect", { ...shape, class: "mark present", y: height - BOTTOM - found, height: Math.max(found, 0) }));
        } else {
            svg.append(drawn("rect", { ...shape, class: `mark ${kind}`, y: height - BOTTOM - tall, height: tall }));
        }
        if (bar.at % label === 0) {
            svg.append(drawn("text", { x: x + stride / 2, y: height - BOTTOM + 17, "text-anchor": "middle" }, bar.at));
        }
    }
    svg.append(drawn("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: height - BOTTOM, y2: height - BOTTOM }));
    plot.replaceChildren(svg, tip);
}

function table() {
    const all = run && run.states !== null ? Number(run.states) : null;
    const share = (count) => (all === null ? "–" : percent(count / all));
    const rows = growth.depths.map((depth, at) => {
        const row = element("tr");
        const cells = [at, grouped(depth.states), depth.classes === null ? "–" : grouped(depth.classes),
            share(Number(depth.states)), time(depth.seconds), bytes(depth.bytes)];
        row.append(...cells.map((cell) => element("td", cell)));
        return row;
    });
    growth.expected.forEach((count, at) => {
        const row = element("tr", undefined, "expected");
        const cells = [at + growth.depths.length, `about ${about(count)}`, "", share(count), "", ""];
        row.append(...cells.map((cell) => element("td", cell)));
        rows.push(row);
    });
    byId("growth-table").tBodies[0].replaceChildren(...rows);
}

export function show(change, facts) {
    if (facts) run = facts;
    if (change) {
        growth = change;
        table();
    }
    const known = growth.depths.length;
    let text = known === 0 ? "No depth is finished yet." : `States by distance from the ${run ? run.distances_from : "solved state"}, up to depth ${known - 1}.`;
    if (growth.expected.length > 0) {
        text += ` Lighter: estimates, with depth ${known + growth.expected.length - 1} as the likely last one.`;
    }
    say("growth-text", text);
    draw();
}

choice("linear", "logarithmic", (chosen) => { isLogarithmic = chosen === "logarithmic"; draw(); });
new ResizeObserver(draw).observe(byId("growth"));

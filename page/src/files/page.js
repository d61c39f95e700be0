// The page: receives changes from the server, and shows them.

import * as growth from "/growth.js";
import * as shards from "/shards.js";
import * as workers from "/workers.js";
import { about, byId, bytes, element, grouped, moment, percent, rate, say, time } from "/words.js";

const MOST_EVENTS = 400;
/// The server sends something every ten seconds.
const SILENCE = 25000;
const FIRST_PAUSE = 1000, LONGEST_PAUSE = 15000;
const WORDS = {
    "preparing": ["preparing", ""], "running": ["running", "good"], "waiting": ["waiting", "bad"],
    "unfinished": ["not finished", "warn"], "deep-enough": ["max depth reached", "good"], "stopped": ["stopped", "warn"],
    "failed": ["failed", "bad"], "complete": ["complete", "good"],
};
const OVER = ["unfinished", "deep-enough", "stopped", "failed", "complete"];
let run = null, events = [], source = null, pause = FIRST_PAUSE, heard = Date.now(), retry = null;

function fact(what, said, more) {
    const pair = element("div"), value = element("dd", said);
    if (more) value.append(element("small", more));
    pair.append(element("dt", what), value);
    return pair;
}

function left() {
    if (!run.run_left) return run.depth_left === null ? "–" : "more than this depth";
    const [least, most] = run.run_left;
    return most < 5 ? "a few seconds" : time(least) === time(most) ? `about ${time(most)}` : `${time(least)} – ${time(most)}`;
}

function within(seconds) {
    return seconds === null ? "more than 10 s" : seconds < 1 ? `within ${seconds * 1000} ms` : `within ${seconds} s`;
}

function showRun() {
    const isOver = OVER.includes(run.state), [word, kind] = WORDS[run.state] || [run.state, ""];
    say("title", run.title);
    say("name", run.name);
    say("state", word);
    byId("state").className = `badge ${kind}`;
    const isKnown = run.share !== null;
    document.title = `${run.state === "running" && isKnown ? percent(run.share) : word} · ${run.title} · Fathom`;
    say("digest", run.digest);
    byId("run-bar").hidden = !isKnown;
    byId("run-label").hidden = !isKnown;
    byId("run-bar").value = isKnown ? run.share : 0;
    say("run-share", isKnown ? percent(run.share) : "");
    for (const id of ["depth-bar", "depth-share", "depth-label"]) byId(id).hidden = isOver;
    byId("depth-label").parentElement.hidden = isOver;
    byId("depth-bar").value = run.depth_share;
    say("depth-share", percent(run.depth_share));
    say("depth-label", run.depth === null ? "depth" : `depth ${run.depth}`);
    const obstacle = byId("obstacle");
    obstacle.hidden = !run.obstacle;
    say("obstacle", run.obstacle ? `The run waits: ${run.obstacle}` : "");
    const facts = [fact("states visited", grouped(run.visited), isKnown ? `of ${grouped(run.states)}` : "")];
    if (!isOver) {
        const threads = run.threads ? `with ${grouped(run.threads)} ${run.threads === 1 ? "thread" : "threads"}` : "";
        facts.push(fact("states per second", run.rate === null ? "–" : rate(run.rate), threads));
        facts.push(fact(run.depth === null ? "this depth" : `depth ${run.depth}`, run.depth_left === null ? "–" : `${time(run.depth_left)} left`, `${about(Number(run.depth_states))} states found`));
        if (run.has_forecast) facts.push(fact("whole run", left(), run.run_left ? "left" : ""));
    } else if (run.depth !== null) {
        facts.push(fact(run.largest ? run.largest[0] : "finished depths up to", String(run.depth)));
        facts.push(fact("time of all depths", time(run.seconds)));
    }
    const next = run.disk_next && !isOver ? `up to ${bytes(run.disk_next)} for the next depth` : "";
    const served = run.sent !== null, all = served ? " of the workers" : "";
    facts.push(fact("layers on disk", bytes(run.disk_used), next));
    if (run.disk_free !== null) {
        const limit = run.disk_limit === null ? "" : `the run's files may take ${bytes(run.disk_limit)}`;
        facts.push(fact(served ? "least free disk" : "disk free", bytes(run.disk_free), limit));
    }
    if (run.memory !== null) facts.push(fact(`memory${all}`, bytes(run.memory), run.memory_limit ? `up to ${bytes(run.memory_limit)} with layers` : ""));
    if (run.read !== null) facts.push(fact(`read from disk${served ? "s" : ""}`, bytes(run.read)));
    if (served) facts.push(fact("sent between workers", bytes(run.sent)));
    if (run.fetches) facts.push(fact("half of all fetches", within(run.fetches[0]), `99 % ${within(run.fetches[1])}`));
    byId("facts").replaceChildren(...facts);
    showResult();
}

function oneWay() {
    return run.one_way ? `Note: ${run.one_way}. ` : "";
}

function showResult() {
    const isComplete = run.state === "complete";
    byId("result").hidden = !isComplete;
    if (!isComplete) return;
    const [name, number] = run.largest || ["", ""];
    say("result-text", `${name}: ${number}. ${oneWay()}${run.check || ""}.`);
    const downloads = byId("downloads");
    if (downloads.childElementCount === 0 && run.reports.length > 0) {
        downloads.append(element("span", "download"));
        for (const format of run.reports) {
            const link = element("a", format);
            link.href = `/report/${format}`;
            link.setAttribute("download", "");
            downloads.append(link);
        }
        byId("growth-details").open = true;
    }
}

function showLast() {
    const depths = growthSeen.depths;
    if (run.state !== "complete" || depths.length === 0) return;
    const last = depths[depths.length - 1];
    const classes = last.classes && last.classes !== last.states ? `, ${grouped(last.classes)} up to symmetry` : "";
    const antipodes = last.states === "1" ? "1 antipode" : `${grouped(last.states)} antipodes`;
    say("result-text", `${run.largest[0]}: ${run.largest[1]}. There are ${antipodes}${classes}. ${oneWay()}Check: ${run.check}.`);
}

let growthSeen = { depths: [], expected: [] };

function isWanted(event) {
    const severity = byId("severity").value, text = byId("containing").value.trim().toLowerCase();
    // "depth 1" does not mean depth 10.
    const number = /^(depth|shard) (\d+)$/.exec(text);
    const isMeant = number ? event[number[1]] === Number(number[2]) : words(event).toLowerCase().includes(text);
    return (!severity || event.severity !== "info") && isMeant;
}

function words(event) {
    const parts = [];
    if (event.depth !== undefined) parts.push(`depth ${event.depth}`);
    if (event.shard !== undefined) parts.push(`shard ${event.shard}`);
    if (event.worker) parts.push(event.worker);
    if (event.detail && event.detail !== event.worker) parts.push(event.detail);
    return `${event.what} ${parts.join(", ")}`;
}

function item(event) {
    const made = element("li", undefined, event.severity), when = new Date(event.time), stamp = element("time", moment(when));
    stamp.dateTime = when.toISOString();
    made.append(stamp, element("b", event.what), words(event).slice(event.what.length + 1));
    return made;
}

function showEvents() {
    const shown = events.filter(isWanted).reverse().map(item);
    byId("events").replaceChildren(...shown);
    byId("no-events").hidden = shown.length > 0;
    say("no-events", events.length === 0 ? "Nothing has happened yet." : "No matching events.");
}

function take(change) {
    if (change.workers || change.histories) workers.show(change.workers, change.histories);
    if (change.growth) growthSeen = change.growth;
    if (change.run) {
        run = change.run;
        showRun();
    }
    if (change.run || change.growth) {
        growth.show(change.growth, run);
        showLast();
    }
    if (change.shard_count !== undefined || change.shards) shards.show(change.shard_count, change.shards, workers.nameOf);
    if (change.events) {
        events = change.histories ? change.events : events.concat(change.events).slice(-MOST_EVENTS);
        showEvents();
    }
}

function connected(isSo) {
    const where = byId("connection");
    where.className = isSo ? "quiet" : "quiet bad";
    if (isSo) return say("connection", "live");
    const since = moment(new Date(heard));
    const isOver = run && OVER.includes(run.state);
    say("connection", isOver ? "the server ended with the run; 'fathom page' shows the run again" : `no update since ${since}: the server is not reachable; reconnecting`);
}

function listen() {
    retry = null;
    source = new EventSource("/api/events");
    const hear = (event) => {
        heard = Date.now();
        pause = FIRST_PAUSE;
        connected(true);
        take(JSON.parse(event.data));
    };
    for (const name of ["all", "change", "beat"]) source.addEventListener(name, hear);
    source.onerror = again;
}

function again() {
    if (source) source.close();
    source = null;
    connected(false);
    if (retry === null) retry = setTimeout(listen, pause);
    pause = Math.min(pause * 2, LONGEST_PAUSE);
}

byId("filter").addEventListener("submit", (event) => event.preventDefault());
byId("filter").addEventListener("input", showEvents);
setInterval(() => { if (source && Date.now() - heard > SILENCE) again(); }, 5000);
listen();

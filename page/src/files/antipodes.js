// The antipodes of a complete run: the server searches for them on request, because that may take a while.

import { byId, element, grouped } from "/words.js";

const button = byId("show-antipodes");

/// For a board, the labels in its cells; for another puzzle, the piece in each cell.
function picture(space, { word, orientations }) {
    const board = /^(\d+)x(\d+)$/.exec(space);
    const texts = word.map((label, cell) => orientations && orientations[cell] > 0 ? `${label}+${orientations[cell]}` : String(label));
    if (!board) return element("code", texts.join(" "));
    const rows = Number(board[1]), columns = Number(board[2]), table = element("table", undefined, "board");
    for (let row = 0; row < rows; row += 1) {
        const cells = element("tr");
        cells.append(...texts.slice(row * columns, (row + 1) * columns).map((text) => element("td", text)));
        table.append(cells);
    }
    return table;
}

function item(space, example) {
    const made = element("li");
    made.append(picture(space, example));
    if (example.class_states > 1) made.append(element("p", `one of ${grouped(example.class_states)} equivalent states`, "quiet"));
    if (example.solution) {
        const solved = element("p", "solved by ", "quiet");
        solved.append(element("code", example.solution));
        made.append(solved);
    }
    return made;
}

async function show() {
    button.disabled = true;
    button.textContent = "searching…";
    const list = byId("antipodes");
    try {
        const answer = await fetch("/report/json");
        if (!answer.ok) throw new Error(await answer.text());
        const { space, deepest } = await answer.json();
        const items = deepest ? deepest.examples.map((example) => item(space, example)) : [element("li", "The files of the last layer are not available.")];
        list.replaceChildren(...items);
        button.hidden = true;
    } catch (error) {
        list.replaceChildren(element("li", `Cannot show antipodes: ${error.message}`));
        button.disabled = false;
        button.textContent = "Show antipodes";
    }
}

button.addEventListener("click", show);

// Formatting of numbers, times and sizes; and elements whose text is never interpreted as markup.

/// Digits in groups of three. The argument is a string, because counts exceed the exact integers of a number.
export function grouped(digits) {
    return String(digits).replace(/\B(?=(\d{3})+$)/g, ",");
}

/// An approximate number, such as 4.61 billion.
export function about(number) {
    if (!(number >= 0.5)) return "0";
    const names = [[1e18, "quintillion"], [1e15, "quadrillion"], [1e12, "trillion"], [1e9, "billion"], [1e6, "million"]];
    for (const [size, name] of names) if (number >= size) return `${(number / size).toPrecision(3)} ${name}`;
    return grouped(Math.round(number));
}

export function rate(number) {
    if (!(number >= 1)) return "0/s";
    const names = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
    for (const [size, name] of names) if (number >= size) return `${(number / size).toPrecision(3)} ${name}/s`;
    return `${Math.round(number)}/s`;
}

export function bytes(number) {
    const names = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let place = 0;
    while (number >= 1024 && place < names.length - 1) { number /= 1024; place += 1; }
    // From 1000 to 1023 all four digits are shown.
    return `${place === 0 || number >= 999.5 ? Math.round(number) : number.toPrecision(3)} ${names[place]}`;
}

export function time(seconds) {
    if (seconds < 10) return `${seconds.toPrecision(2)} s`;
    if (seconds < 90) return `${Math.round(seconds)} s`;
    if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
    if (seconds < 172800) return `${(seconds / 3600).toPrecision(2)} h`;
    return `${(seconds / 86400).toPrecision(2)} days`;
}

/// A date and a time of this host's time zone, such as 2026-03-05 07:08:09.
export function moment(when) {
    const two = (number) => String(number).padStart(2, "0");
    const day = [when.getFullYear(), two(when.getMonth() + 1), two(when.getDate())].join("-");
    return `${day} ${[when.getHours(), when.getMinutes(), when.getSeconds()].map(two).join(":")}`;
}

export function percent(share) {
    if (share >= 1) return "100 %";
    const shown = share * 100;
    if (shown > 0 && shown < 0.01) return "< 0.01 %";
    return `${Math.min(shown, 99.99).toFixed(shown < 10 ? 2 : 1)} %`;
}

export function element(name, text, kind) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
}

export function byId(id) {
    return document.getElementById(id);
}

/// Sets a text only if it has changed, so that a screen reader does not read it again.
export function say(id, text) {
    const where = byId(id);
    if (where.textContent !== text) where.textContent = text;
}

/// Two buttons, exactly one of which is pressed.
export function choice(first, second, chosen) {
    const buttons = [byId(first), byId(second)];
    for (const button of buttons) {
        button.addEventListener("click", () => {
            for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
            chosen(button.id);
        });
    }
}

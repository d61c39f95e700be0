"""BLAKE3 of many messages at once, with numpy; in place of the package blake3."""
import numpy as np

IV = np.array([0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19], np.uint32)


def compress(cv, block, counter, length, flags):
    v = np.empty((16, len(cv)), np.uint32)
    v[:8], v[8:12], v[12], v[13], v[14], v[15] = cv.T, IV[:4, None], counter & 0xFFFFFFFF, counter >> 32, length, flags
    (a, b, c, d), m = v.reshape(4, 4, -1), block.T.copy()
    turned = lambda x, by: (x >> np.uint32(by)) | (x << np.uint32(32 - by))
    for _ in range(7):
        for half, by in (0, -1), (8, 1):
            for j, x, y in (0, 16, 12), (1, 8, 7):
                a = a + b + m[half + j:half + 8:2]
                d = turned(d ^ a, x)
                c = c + d
                b = turned(b ^ c, y)
            b, c, d = np.roll(b, by, 0), np.roll(c, 2 * by, 0), np.roll(d, 3 * by, 0)
        m = m[[2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8]]
    return np.concatenate([a ^ c, b ^ d]).T


def blake3(messages, key=IV, mode=0):
    sizes = np.array([len(m) for m in messages], np.int64)
    counts = np.maximum(1, -(-sizes // 1024))
    data = b"".join(m + bytes(1024 * int(c) - len(m)) for m, c in zip(messages, counts))
    data, of = np.frombuffer(data, "<u4").reshape(-1, 16, 16), np.repeat(np.arange(len(messages)), counts)
    at = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
    left = np.clip(sizes[of] - 1024 * at, 0, 1024)
    blocks, cv = np.maximum(1, -(-left // 64)), np.tile(key, (len(of), 1))
    for number in range(blocks.max()):
        on = np.flatnonzero(blocks > number)
        last = blocks[on] == number + 1
        flags = mode + (number == 0) + 2 * last + 8 * (last & (counts[of[on]] == 1))
        cv[on] = compress(cv[on], data[on, number], at[on], np.minimum(64, left[on] - 64 * number), flags)
    while (counts > 1).any():
        pair = np.flatnonzero((at % 2 == 0) & (at + 1 < counts[of]))
        keys, flags = np.tile(key, (len(pair), 1)), mode + 4 + 8 * (counts[of[pair]] == 2)
        cv[pair] = compress(keys, np.hstack([cv[pair], cv[pair + 1]]), 0 * pair, 64, flags)
        even = at % 2 == 0
        cv, of, at, counts = cv[even], of[even], at[even] // 2, -(-counts // 2)
    return [row.astype("<u4").tobytes() for row in cv]


def derived(context, message):
    key = np.frombuffer(blake3([f"fathom 2026 {context}".encode()], IV, 32)[0], "<u4")
    return blake3([message], key, 64)[0]

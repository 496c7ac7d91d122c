// Speaks the extractor protocol for a module: `node adapter.mjs ./reference.mjs`.
//
// The module exports `extract(request)`, which returns an answer without `id` or a promise of one, and
// `adcpExtractor`, what the handshake tells about the library.

import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';

const out = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr); // what a library prints is no answer

const { extract, adcpExtractor } = await import(pathToFileURL(resolve(process.argv[2])).href);

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const request = JSON.parse(line);
  const isGreeting = 'adcp_extractor' in request;
  const answer = isGreeting ? { adcp_extractor: 1, ...adcpExtractor } : await answerTo(request);
  if (!out(`${written(answer)}\n`)) await once(process.stdout, 'drain'); // the reader is slower: wait for it
}

async function answerTo(request) {
  try {
    return { id: request.id, ...(await extract(request)) };
  } catch (error) {
    return refusal(request.id, error);
  }
}

function refusal(id, error) {
  return { id, error: { type: error?.name ?? typeof error, message: String(error?.message ?? error).slice(0, 1000) } };
}

function written(answer) {
  try {
    return JSON.stringify(answer);
  } catch (error) {
    return JSON.stringify(refusal(answer.id, error)); // nested too deeply to be written
  }
}

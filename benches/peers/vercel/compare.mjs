// Reads bodies through Vercel's SDK as its users do, with the provider for compatible servers and a `fetch` that answers from
// memory. In: an array of bodies, each an array of chunks, each an array of bytes. Out: what was read of each.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { jsonSchema, streamText, tool } from 'ai';

const PATIENCE_MS = 60_000;

// Without a handler of their own, so that the calls come out; the schema takes any object.
const tools = { get_tide: tool({ inputSchema: jsonSchema({ type: 'object' }) }) };

function provider(chunks) {
  const body = () =>
    new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(Uint8Array.from(chunk));
        controller.close();
      },
    });
  const headers = { 'content-type': 'text/event-stream' };
  return createOpenAICompatible({
    name: 'demo',
    baseURL: 'http://127.0.0.1/v1',
    fetch: async () => new Response(body(), { headers }),
  });
}

const words = (error) => error?.message ?? JSON.stringify(error) ?? String(error);

async function read(chunks) {
  const calls = [];
  const errors = [];
  try {
    const result = streamText({
      model: provider(chunks).chatModel('demo'),
      prompt: 'When does the tide turn?',
      tools,
      maxRetries: 0,
      abortSignal: AbortSignal.timeout(PATIENCE_MS),
      // Errors come as parts too; the default handler prints them.
      onError() {},
    });
    for await (const part of result.fullStream) {
      if (part.type === 'error') errors.push(words(part.error));
      if (part.type !== 'tool-call') continue;
      const parsed = typeof part.input !== 'string';
      calls.push({
        id: part.toolCallId,
        name: part.toolName,
        arguments: parsed ? { parsed: part.input } : { text: part.input },
        flagged: part.invalid === true,
      });
    }
  } catch (error) {
    errors.push(words(error));
  }
  return { calls, errors };
}

function version(name) {
  let folder = dirname(createRequire(import.meta.url).resolve(name));
  for (;;) {
    try {
      const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      if (manifest.name === name) return `${name} ${manifest.version}`;
    } catch {
      // No manifest here; it is further up.
    }
    folder = dirname(folder);
  }
}

const bodies = JSON.parse(readFileSync(0, 'utf8'));
const readings = [];
for (const chunks of bodies) readings.push(await read(chunks));
const title = ['ai', '@ai-sdk/openai-compatible'].map(version).join(', ');
process.stdout.write(JSON.stringify({ title, readings }));

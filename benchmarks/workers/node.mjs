// The peer: the same work with Node's child_process, as other agents do it. Same protocol as floor.c.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const [hook, bash, sh] = process.argv.slice(2);

const payloads = {};

function runOne(payload, shell) {
  return new Promise((resolve, reject) => {
    const [file, args] = shell === '-' ? [hook, []] : [shell === 'bash' ? bash : sh, ['-c', hook]];
    const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (data) => (stdout += data));
    child.stderr.on('data', (data) => (stderr += data));
    child.stdin.on('error', () => {});
    child.on('close', (code) => (code === 0 ? resolve(stdout) : reject(new Error(`the hook failed: ${stderr}`))));
    child.stdin.end(payload);
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  const [count, bytes, shell] = line.split(' ');
  const payload = payloads[bytes] ??= 'x'.repeat(Number(bytes));
  const begin = process.hrtime.bigint();
  await Promise.all(Array.from({ length: Number(count) }, () => runOne(payload, shell)));
  console.log(`${process.hrtime.bigint() - begin} 0`);
}

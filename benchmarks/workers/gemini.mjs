// The peer: Gemini CLI's own hook runner (npm package @google/gemini-cli-core), one BeforeTool event per line of stdin.
// Arguments: the folder of the package, the hook's command. Answers each line with the nanoseconds of the event.
import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { createInterface } from 'node:readline';

// In sessions of their own, as ours are: on a busy machine the kernel shares the processor between sessions.
const { spawn } = childProcess;
childProcess.spawn = (file, args, options) => spawn(file, args, { ...options, detached: true });
syncBuiltinESMExports();

console.debug = console.log = () => {};
const [core, command] = process.argv.slice(2);
const { HookRunner } = await import(`${core}/dist/src/hooks/hookRunner.js`);
const sanitizationConfig = { allowedEnvironmentVariables: [], blockedEnvironmentVariables: [], enableEnvironmentVariableRedaction: false };
const runner = new HookRunner({ isTrustedFolder: () => true, sanitizationConfig, storage: { getPlansDir: () => '/tmp' } });
const hook = { type: 'command', command };

for await (const line of createInterface({ input: process.stdin })) {
  const input = { session_id: 's', cwd: '/tmp', hook_event_name: 'BeforeTool', tool_name: 'write_file', tool_input: JSON.parse(line) };
  const begin = process.hrtime.bigint();
  const result = await runner.executeHook(hook, 'BeforeTool', input);
  const took = process.hrtime.bigint() - begin;
  if (!result.success) throw new Error(`the hook failed: ${result.error ?? result.stderr}`);
  process.stdout.write(`${took}\n`);
}

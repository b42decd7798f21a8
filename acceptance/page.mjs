// Opens the page of `quietcontext view` in a real Chromium: search, sources, chunks, hostile text, no
// request to elsewhere, keyboard, a narrow window, dark and light.
//
//   node acceptance/page.mjs BINARY FOLDER_WITH_PLAYWRIGHT_CORE [FOLDER_FOR_SCREENSHOTS]

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const [binary, library, pictures] = process.argv.slice(2).map((path) => resolve(path));
const { chromium } = createRequire(join(library, "package.json"))("playwright-core");
const PATIENCE = 30_000;

const world = mkdtempSync(join(tmpdir(), "quietcontext-page-"));
const [home, work] = ["home", "work"].map((name) => join(world, name));
const docs = join(work, "docs");
for (const folder of [home, docs]) mkdirSync(folder, { recursive: true });
const env = { HOME: home, PATH: process.env.PATH, LANG: "C.UTF-8" };
const options = { cwd: work, env };

/** Runs a command for people. */
function run(...args) {
  const { status, stdout, stderr } = spawnSync(binary, args, { ...options, encoding: "utf8" });
  assert.equal(status, 0, `${args}: ${stdout}${stderr}`);
  return stdout;
}

/** The next line of a stream for which `wanted` is true. */
async function line(stream, wanted) {
  const reader = createInterface({ input: stream });
  const timer = setTimeout(() => reader.close(), PATIENCE);
  for await (const text of reader) {
    if (wanted(text)) {
      clearTimeout(timer);
      return text;
    }
  }
  throw new Error("the line that was waited for did not come");
}

const HOSTILE = `<script>window.ran = 1; fetch("http://evil.example/")</script>
<img src="http://evil.example/pixel.png" onerror="window.ran = 2">
<style>@import url("http://evil.example/style.css");</style>
<form action="http://evil.example/"><button autofocus>zanzibar</button></form>
\u202Ecod.exe \u001b[31mred zanzibar\n`;

/** Fills the root of this world as agents would. */
function fill() {
  const guide = ["# Renewal of tokens", "", "A token is renewed every hour by the zanzibar job.", ""];
  for (let i = 1; i <= 40; i++) guide.push(`## Section ${i}`, "", `The zanzibar job writes line ${i}.`, "");
  writeFileSync(join(docs, "guide.md"), guide.join("\n"));
  writeFileSync(join(docs, "main.rs"), "/// Renews tokens.\nfn renew(token: &str) -> bool {\n    !token.is_empty()\n}\n");
  writeFileSync(join(docs, "hostile.md"), HOSTILE);
  run("index", "docs");
  const call = (tool, args) => run("call", tool, JSON.stringify(args));
  call("index", { content: HOSTILE, source: '"><script>window.ran = 3</script>' });
  call("execute", { language: "shell", code: "seq 1 60000 # <script>window.ran = 4</script>" });
  call("execute", { language: "shell", code: "echo not found >&2; exit 3" });
  call("batch", { commands: ["echo one", "false"], queries: ["one"] });
  call("search", { queries: ["how are tokens renewed"], preview: true });
}

/** A server with a job that runs until the server ends. */
async function server() {
  const child = spawn(binary, [], { ...options, stdio: ["pipe", "pipe", "ignore"] });
  const send = (message) => child.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  const clientInfo = { name: "page", version: "0" };
  send({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo } });
  const args = { language: "shell", code: "echo listening on 8080; sleep 600", background: true };
  send({ id: 2, method: "tools/call", params: { name: "execute", arguments: args } });
  await line(child.stdout, (text) => JSON.parse(text).id === 2);
  return child;
}

/** A browser's window on the page; whatever it asks for elsewhere, and whatever runs, is a failure. */
async function open(browser, address, how) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...how });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const wrong = [];
  page.on("request", (request) => {
    if (new URL(request.url()).host !== new URL(address).host) wrong.push(`asked for ${request.url()}`);
  });
  page.on("dialog", (dialog) => wrong.push(`dialog: ${dialog.message()}`));
  page.on("pageerror", (error) => wrong.push(`error: ${error}`));
  page.on("console", (message) => {
    if (message.type() === "error") wrong.push(`console: ${message.text()}`);
  });
  await page.goto(address);
  return { context, page, wrong, fine: () => assert.deepEqual(wrong, []) };
}

const parts = [];
const part = (name, test) => parts.push([name, test]);

part("the overview shows sums, the running job and the latest calls", async ({ page }) => {
  assert.equal(await page.locator("h1").innerText(), "Overview");
  const text = await page.locator("main").innerText();
  for (const wanted of ["Calls in 14 days", "echo listening on 8080", "exit 3", "1 of 2 failed"]) {
    assert.ok(text.includes(wanted), `${wanted}: ${text}`);
  }
  assert.ok((await page.locator("rect.produced").first().boundingBox()).width > 50);
});

part("a search shows the very answer of an agent and leads to the chunk", async ({ page }) => {
  await page.locator("nav").getByText("Search").click();
  // A browser gives it the focus when it draws, which may be after the page has loaded.
  await page.waitForFunction(() => document.activeElement.id === "q");
  await page.keyboard.type("how are tokens renewed");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".answer");
  const query = { queries: ["how are tokens renewed"], preview: true };
  const answer = run("call", "search", JSON.stringify(query)).trimEnd();
  assert.equal((await page.locator(".answer").textContent()).trimEnd(), answer);
  assert.ok((await page.locator("article mark").count()) > 0);
  const link = page.locator("article .ref").first();
  const reference = await link.innerText();
  await link.click();
  const chunk = page.locator(`.chunk#${reference.replace(":", "")}`);
  await chunk.waitFor();
  assert.ok(await chunk.evaluate((element) => element.matches(":target")));
  assert.match(await chunk.locator(".gutter").innerText(), /^\d+/);
});

part("a source leads to its chunks, page by page", async ({ page }) => {
  await page.locator("nav").getByText("Sources").click();
  await page.getByRole("link", { name: "execute:1", exact: true }).click();
  assert.ok((await page.locator(".chunk").count()) === 20);
  assert.match(await page.locator(".gutter").first().innerText(), /^1\n2\n3/);
  await page.locator("a[rel=next]").first().click();
  await page.locator("a[rel=prev]").first().waitFor();
  assert.notEqual((await page.locator(".gutter").first().innerText()).split("\n")[0], "1");
  await page.getByRole("link", { name: "end" }).first().click();
  assert.match(await page.locator(".text").last().innerText(), /60000\s*$/);
});

part("hostile text is shown and does nothing", async ({ page }, address) => {
  for (const path of ["sources", "calls", "search?q=zanzibar&limit=20"]) {
    await page.goto(address + path);
    assert.equal(await page.evaluate(() => window.ran), undefined, path);
    assert.equal(await page.locator("main script, main img, main style").count(), 0, path);
  }
  await page.goto(`${address}sources?part=hostile`);
  await page.locator("td a").first().click();
  const text = await page.locator(".text").first().innerText();
  assert.ok(text.includes("<script>window.ran = 1") && text.includes("⟨U+202E⟩"), text);
  assert.equal(await page.evaluate(() => window.ran), undefined);
});

part("the keyboard reaches the content and the menu", async ({ page }, address) => {
  await page.goto(address);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
  assert.ok((await page.locator(".skip").boundingBox()).x >= 0);
  for (const name of ["QuietContext", "Overview", "Sources"]) {
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.innerText), name);
  }
  await page.keyboard.press("Enter");
  await page.waitForURL("**/sources");
});

/** That hostile text does nothing says something only where it would be noticed. */
async function control(browser, address) {
  const { context, page, wrong } = await open(browser, address, {});
  await context.route("**", (route) => route.abort());
  await page.goto("about:blank");
  await page.setContent(HOSTILE);
  await page.waitForFunction(() => window.ran === 2, null, { timeout: PATIENCE });
  assert.ok(wrong.some((what) => what.startsWith("asked for http://evil.example/")), `${wrong}`);
}

/** No page is wider than a narrow window; all of it works without programs. */
async function narrow(browser, address) {
  const { page, fine } = await open(browser, address, {
    viewport: { width: 360, height: 740 },
    javaScriptEnabled: false,
  });
  for (const path of ["", "sources", "calls", "search?q=tokens+renewed"]) {
    await page.goto(address + path);
    const { width } = await page.locator("html").boundingBox();
    const main = await page.locator("main").boundingBox();
    assert.ok(width <= 360 && main.x + main.width <= 360, `${path}: ${width}, ${JSON.stringify(main)}`);
  }
  fine();
}

async function photograph(browser, address) {
  mkdirSync(pictures, { recursive: true });
  const number = /r:(\d+)/.exec(run("sources").split("\n").find((text) => text.includes("guide.md")))[1];
  const paths = { overview: "", sources: "sources", calls: "calls", search: "search?q=how+are+tokens+renewed" };
  paths.document = `document?r=${number}#r${number}`;
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1280, 390]) {
      const { page } = await open(browser, address, { colorScheme, viewport: { width, height: 900 } });
      for (const [name, path] of Object.entries(paths)) {
        await page.goto(address + path);
        await page.screenshot({ path: join(pictures, `${name}-${colorScheme}-${width}.png`) });
      }
    }
  }
}

let failed = 0;
async function held(name, test) {
  try {
    await test();
    console.log(`ok   ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${name}\n${error.stack}`);
  }
}

fill();
const running = await server();
const view = spawn(binary, ["view", "--no-open"], { ...options, stdio: ["ignore", "pipe", "inherit"] });
let browser;
try {
  const address = await line(view.stdout, (text) => text.startsWith("http://127.0.0.1:"));
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
  for (const colorScheme of ["light", "dark"]) {
    const { page, fine } = await open(browser, address, { colorScheme });
    for (const [name, test] of parts) {
      await held(`${colorScheme}: ${name}`, async () => {
        await test({ page }, address);
        fine();
      });
    }
  }
  await held("what hostile text would do is noticed", () => control(browser, address));
  await held("a narrow window without programs", () => narrow(browser, address));
  if (pictures) await photograph(browser, address);
} finally {
  await browser?.close();
  view.kill();
  running.kill();
  rmSync(world, { recursive: true, force: true });
}
process.exitCode = failed ? 1 : 0;

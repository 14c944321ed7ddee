#!/usr/bin/env bash
# Make a release: `make release VERSION=0.2.0`. docs/releasing.md says what goes before and after.
set -euo pipefail
version="$1" python="$2"
cd "$(dirname "$0")/.."
stop() { echo "$*" >&2; exit 1; }

[ -z "$(git status --porcelain)" ] || stop "Expected no changes that are not committed. Remedy: commit or stash them."
git rev-parse -q --verify "refs/tags/v$version" > /dev/null && stop "There is a tag v$version already."
# The date goes into the changelog and the citation, and the version into the package, in a commit of their own.
today="$(date +%F)"
grep -qE "^## $version( |$)" CHANGELOG.md || stop "Expected a section '## $version' in CHANGELOG.md."
sed -i -E "s/^## $version.*/## $version ($today)/" CHANGELOG.md
sed -i -E "s/^__version__ = .*/__version__ = \"$version\"/" lmms_eval_tasks/__init__.py worlds/lmms_eval_worlds/__init__.py
sed -i -E "s/^    lmms-eval-tasks>=.*/    lmms-eval-tasks>=$version/" worlds/setup.cfg
sed -i -E "s/^version: .*/version: $version/; s/^date-released: .*/date-released: $today/" CITATION.cff

# What the public door lost since the last release, where there was one.
if last="$(git describe --tags --abbrev=0 --match 'v*' 2> /dev/null)"; then
  "$python" -m griffe check lmms_eval_tasks.api --search . --against "$last" ||
    stop "lmms_eval_tasks.api breaks what $last promised: CONTRIBUTING.md says how names are replaced."
fi

rm -rf build worlds/build dist
for package in . worlds; do "$python" -m build --wheel --outdir dist "$package" > /dev/null; done
wheel="$(echo dist/lmms_eval_tasks-*.whl)" worlds="$(echo dist/lmms_eval_worlds-*.whl)"

# The wheels by themselves, in a new environment with the tested versions.
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/venv"
"$work/venv/bin/python" tools/install.py --constraint constraints.txt "$wheel[all]" "$worlds"
export PATH="$work/venv/bin:$PATH" LMMS_EVAL_TASKS_HOME="$work/home" HF_HOME="$work/hf" HF_HUB_OFFLINE=1 ACCELERATE_USE_CPU=true
cd "$work"
test "$(lmms-eval-tasks --version)" = "lmms-eval-tasks $version"
lmms-eval-tasks sample --out sample --prepare
lmms-eval-tasks check
lmms-eval --model sample_solver --tasks mvp_mini,causalvqa_debug_paired --output_path out --log_samples
lmms-eval-tasks report out --html report.html
cd - > /dev/null

git diff --quiet || git commit -qam "release: $version"
git tag -a "v$version" -m "lmms-eval-tasks $version"
echo "$wheel and $worlds are checked, and v$version is tagged. Next: git push --follow-tags, then upload both."

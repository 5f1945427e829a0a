// evener sweep: runs a command with all combinations of some options, in a fair order, and prints one table.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/terminal_text.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "job/sweep/sweep_job.h"
#include "report/table.h"

namespace evener::cli {
namespace {

constexpr const char* kSweepExamples = R"(Examples:
  evener sweep train resnet34 --data synth:masks:2400 --size 64x48 --epochs 2 --on cpu/t1,cpu/t2,2xcpu/t1 --repeats 5
  evener sweep infer resnet18 random:500 --on cpu/t1,cpu/t2 --precision fp32,bf16 --batch 2^0..2^4 --until ci=2%
  evener sweep EVENER_SIMD=avx2,avx512 train mlp:784-256-10 --data synth:digits --repeats 10
  evener sweep experiments/threads.toml --dry-run
  evener sweep experiments/threads.toml
  evener sweep experiments/threads.toml --again failed
  evener report runs/threads
  evener compare runs/threads:on=cpu/t1 runs/threads:on=cpu/t2)";

int tell_sweep(const job::SweepFlags& flags) {
  ProgressLine progress(*flags.quiet);
  if (*flags.dry_run) {
    fmt::print("{}", job::sweep_dry_run_text(flags, progress));
    return 0;
  }
  const job::SweepOutcome outcome = job::sweep(flags, progress);
  std::fputs(report::terminal_text(report::sweep_table(outcome.sweep)).c_str(), stdout);
  for (const std::string& sentence : report::sweep_conclusion(outcome.sweep)) fmt::print("{}\n", one_line(sentence));
  if (outcome.page) {
    fmt::print(stderr, "report: {}\n", std::filesystem::absolute(outcome.page->path).lexically_normal().string());
    if (!outcome.page->hint.empty()) fmt::print(stderr, "warning: {}\n", outcome.page->hint);
  }
  return outcome.failed_cells() > 0 ? 1 : outcome.invalid_cells() > 0 ? 3 : 0;
}

}  // namespace

Command sweep_command() {
  const auto flags = std::make_shared<job::SweepFlags>();
  return {.name = "sweep",
          .summary = "Run the same work in every way, repeatedly and in a fair order, as one table",
          .options = {flags.get()},
          .footer = kSweepExamples,
          .passes_words_on = true,
          .complete = [flags] { job::complete(*flags); },
          .run = [flags] { return tell_sweep(*flags); }};
}

}  // namespace evener::cli

// evener matmul: multiplies two matrices on each device of a placement, checks the product, and tells how fast it was.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "base/names.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/progress.h"
#include "job/matmul/matmul_job.h"
#include "record/record_json.h"

namespace evener::cli {
namespace {

constexpr const char* kMatmulExamples = R"(Examples:
  evener matmul                             10000 x 10000 on all cores: 1.2 GB
  evener matmul 2000 --on cpu/t1 --precision bf16
  evener matmul 4000 --on cpu+cuda:0        one after the other, each told apart
  evener matmul 1000 --on opencl --repeats 50 --out runs/products)";

int tell_matmul(const job::MatmulFlags& flags) {
  ProgressLine progress(*flags.output.quiet || *flags.output.json == "-");
  const job::MatmulRun run = job::matmul(flags, progress);
  if (!write_json(*flags.output.json, record::to_json(run.record))) {
    fmt::print("{0} x {0}, {1}: {2} a product\n", *flags.product.size, *flags.product.precision,
               si_text(run.products.front().flops, "FLOP"));
    for (const job::DeviceProducts& products : run.products) std::fputs(job::products_text(products).c_str(), stdout);
    if (!run.folder.empty()) fmt::print("results: {}\n", run.folder.string());
  }
  if (run.record.validity.valid != false) return 0;
  std::string rules;
  for (const auto& reason : run.record.validity.reasons) rules += (rules.empty() ? "" : ", ") + reason.rule;
  progress.note("INVALID: the times are not to be quoted (" + rules + "); record.json says why");
  return 3;
}

}  // namespace

Command matmul_command() {
  const auto flags = std::make_shared<job::MatmulFlags>();
  return {.name = "matmul",
          .summary = "Check and time a product of two matrices on each device",
          .options = flags->options(),
          .footer = kMatmulExamples,
          .run = [flags] { return tell_matmul(*flags); }};
}

}  // namespace evener::cli

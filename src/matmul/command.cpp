// evener matmul: checks and times products of matrices.
#include "options/command.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "base/names.h"
#include "matmul/matmul_job.h"
#include "options/output.h"
#include "options/progress_line.h"
#include "record/record_json.h"

namespace evener::matmul {
namespace {

constexpr const char* kMatmulExamples = R"(Examples:
  evener matmul                             10000 x 10000 on all cores: 1.2 GB
  evener matmul 2000 --on cpu/t1 --precision bf16
  evener matmul 4000 --on cpu+cuda:0        one after the other, each told apart
  evener matmul 1000 --on opencl --repeats 50 --out runs/products)";

int tell_matmul(const MatmulFlags& flags) {
  ProgressLine progress(*flags.output.quiet || *flags.output.json == "-");
  const MatmulRun run = matmul(flags, progress);
  if (!write_json(*flags.output.json, record::to_json(run.record))) {
    fmt::print("{0} x {0}, {1}: {2} a product\n", *flags.product.size, *flags.product.precision,
               si_text(run.products.front().flops, "FLOP"));
    for (const DeviceProducts& products : run.products) std::fputs(products_text(products).c_str(), stdout);
    if (!run.folder.empty()) fmt::print("results: {}\n", run.folder.string());
  }
  if (run.record.validity.valid != false) return 0;
  for (const auto& reason : run.record.validity.reasons) {
    progress.note("INVALID, not to be quoted: " + reason.what + "; " + reason.advice);
  }
  return 3;
}

}  // namespace

Command matmul_command() {
  const auto flags = std::make_shared<MatmulFlags>();
  return {.name = "matmul",
          .summary = "Check and time a product of two matrices on each device",
          .options = flags->options(),
          .footer = kMatmulExamples,
          .measured = measured_matmul,
          .run = [flags] { return tell_matmul(*flags); }};
}

}  // namespace evener::matmul

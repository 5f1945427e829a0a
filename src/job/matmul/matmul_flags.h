// The options of `evener matmul`.
#pragma once

#include "job/options/option_set.h"
#include "job/options/output_flags.h"

namespace evener::job {

struct ProductFlags : OptionGroup {
  ProductFlags() : OptionGroup("Product") {}

  Option<std::int64_t> size{
      *this, {"N", "N", "Rows and columns of each matrix (default: 10000)"}, 10000, {.range = from_to(1, 1'000'000)}};
  Option<std::string> on{*this,
                         {"--on", "PLACEMENT", "cpu (all cores), cpu/t1, cuda:0, opencl, cpu+cuda:0, ..."},
                         "cpu",
                         {.suggestions = {"cpu", "cpu/t1", "cuda:0", "opencl", "cpu+cuda:0"}}};
  Option<std::string> precision{
      *this, {"--precision", "NAME", "fp32, or bf16 with sums in fp32"}, "fp32", {.one_of = {"fp32", "bf16"}}};
  Option<std::string> engine{*this,
                             {"--engine", "NAME",
                              "auto (torch, or native on OpenCL and where torch can't be used), torch, or native: our "
                              "own kernels"},
                             "auto",
                             {.one_of = {"auto", "torch", "native"}}};
  Option<std::uint64_t> seed{*this, {"--seed", "N", "Of the matrices' values"}, 1};
};

struct RepeatFlags : OptionGroup {
  RepeatFlags() : OptionGroup("Measuring") {}

  Option<int> repeats{*this,
                      {"--repeats", "N", "Samples of the time, after a first product that doesn't count"},
                      10,
                      {.range = from_to(1, 1'000'000)}};
  Option<double> seconds{
      *this, {"--seconds", "SECONDS", "Take more samples until so long"}, 1, {.range = zero_or_more()}};
  Option<int> sample_interval_ms{
      *this, {"--sample-interval", "MILLISECONDS", "Between samples of CPU and memory"}, 500, {.recorded = false}};
};

struct MatmulFlags {
  ProductFlags product;
  RepeatFlags repeats;
  OutputFlags output{"Folder for the record (default: none)"};

  OptionSet options() { return {&product, &repeats, &output}; }
};

}  // namespace evener::job

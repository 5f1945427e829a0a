// Rows of products.
#include "app/option_rows_helpers.h"

#include "base/precision.h"
#include "matmul/matmul_job.h"
#include "placement/machine.h"
#include "placement/placement.h"

namespace evener::test {
namespace {

using nlohmann::json;

std::vector<OptionRow> products() {
  return {{"matmul", {"N", "24"}, "/size", 24},
          {"matmul", {"--on", "2xcpu/t1"}, "/plan/text", "2xcpu/t1"},
          {"matmul", {"--precision", "bf16"}, "/precision", "bf16"},
          {"matmul", {"--engine", "native"}, "/engine", "native"},
          {"matmul", {"--seed", "7"}, "/seed", 7},
          {"matmul", {"--repeats", "3"}, "/repeats", 3},
          {"matmul", {"--seconds", "0.25"}, "/seconds", 0.25},
          {"matmul", {"--sample-interval", "125"}, "/around/sample_interval_ms", 125},
          {"matmul", {"--out", "{}/new"}, "/run/files", "~new/record.json"},
          {"matmul", {"--overwrite", "true"}, "/around/overwrite", true},
          {"matmul", {"--json", "{}/r.json"}, "/run/files", "~r.json"},
          {"matmul", {"--json", "-"}, "/run/out", "~\"kind\": \"matmul\""},
          {"matmul", {"--quiet", "true"}, "/run/err", ""}};
}

json handed_to_products(const Words& given) {
  matmul::MatmulFlags flags;
  give_all(flags.options(), given);
  const placement::Placement asked = placement::parse(*flags.product.on);
  const placement::Plan plan = placement::make_plan(asked, placement::machine_for(asked), {});
  const matmul::MatmulOptions options = matmul::matmul_options(flags, plan.replicas.front().stages.front());
  return {{"plan", plan_json(plan)},
          {"engine", options.engine},
          {"precision", precision_name(options.precision)},
          {"size", options.size},
          {"repeats", options.repeats},
          {"seconds", options.seconds},
          {"seed", options.seed},
          {"around", around_json(run_options(flags))}};
}

const bool kMatmulIsAdded = add_to_option_table({{"matmul",
                                                  {"N", "16", "--on", "cpu/t1", "--repeats", "1", "--seconds", "0"},
                                                  {"--out", "{}/out", "--engine", "native"},
                                                  handed_to_products}},
                                                {products()});

}  // namespace
}  // namespace evener::test

#include "infer/share/share_job.h"

#include "base/error.h"
#include "base/files.h"
#include "infer/inference.h"
#include "infer/page.h"
#include "infer/share/share_page.h"

namespace evener::inference {
namespace {

namespace fs = std::filesystem;

/// The part of the training's data that it had not learnt from.
std::string judging_part(const report::Run& training, const std::string& folder) {
  const record::Record& record = training.record;
  if (record.kind != "train") throw UsageError("'" + folder + "' is not the folder of a training");
  if (!record.training.accuracy.val && !record.training.accuracy.test) {
    throw UsageError("'" + folder +
                     "' has no accuracy to tell of: it is no classifier's, or its data has neither a validation nor a "
                     "test part");
  }
  return record.data.test.value_or(0) > 0 ? "test" : "validation";
}

std::uint64_t weight_bytes(const fs::path& run) {
  const fs::path best = run / "best.safetensors";
  return fs::file_size(fs::exists(best) ? best : run / "last.safetensors");
}

}  // namespace

fs::path share(const ShareFlags& flags, measure::Observer& observer, const StopFlag* stop) {
  const fs::path run = *flags.run;
  SharedNetwork shared;
  shared.training = report::load_run(run);
  shared.folder = run;
  const fs::path folder = run / "share";
  InferCommandFlags infer_flags;
  OptionSet options = infer_flags.options();
  options.give("MODEL", {run.string()});
  options.give("--part", {judging_part(shared.training, run.string())});
  options.give("--format", {"none"});
  options.give("--out", {folder.string()});
  options.give("--overwrite", {"true"});
  options.check();
  infer_flags.predictions.shows_maps = true;
  complete(infer_flags, &observer);
  infer(infer_flags, observer, stop);
  shared.judging = report::load_run(folder);
  shared.predictions = predictions_part({&shared.judging, 1});
  shared.judging.name = shared.training.name;
  shared.weight_bytes = weight_bytes(run);
  const fs::path page = flags.html->empty() ? folder / "page.html" : fs::path(*flags.html);
  write_file_atomically(page, share_page(shared));
  return page;
}

}  // namespace evener::inference

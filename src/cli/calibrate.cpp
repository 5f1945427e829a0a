// evener calibrate: gives a trained classifier probabilities that hold, and the knowledge of what is unknown to it.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/progress.h"
#include "job/calibrate/calibration_job.h"

namespace evener::cli {
namespace {

std::string error_text(const record::CalibrationError& error) {
  std::string text = fmt::format("{:.2f} %", 100 * error.ece);
  if (error.interval)
    text += fmt::format(" (95 %: {:.2f} to {:.2f})", 100 * error.interval->low, 100 * error.interval->high);
  return text + fmt::format("; of bins of equally many images {:.2f} %", 100 * error.ece_equal_mass);
}

void print_calibration(const job::CalibratedNetwork& network) {
  const record::CalibrationRecord& found = network.figures;
  fmt::print("temperature               {:.4g}, fitted to {} images\n", found.temperature, found.fitted_images);
  fmt::print("judged on                 {} images: {}\n", found.judged_images, found.judged);
  fmt::print("calibration error before  {}\n", error_text(found.before));
  fmt::print("                   after  {}\n", error_text(found.after));
  fmt::print("likelihood loss           {:.4f} before, {:.4f} after\n", found.before.negative_log_likelihood,
             found.after.negative_log_likelihood);
  if (!found.no_unknown.empty()) {
    fmt::print("unknown                   nothing: {}\n", found.no_unknown);
  } else {
    fmt::print(
        "unknown                   by the features of {} training images; {:.1f} % of the known images, {:.3g} % "
        "wanted\n",
        found.statistics_images, 100 * found.known_unknown.value_or(0), 100 * found.unknown_wanted);
  }
  if (const auto& unlike = found.unlike) {
    fmt::print(
        "unlike                    {:.1f} % of {} images called unknown; AUROC {:.1f} %; {:.1f} % pass where 95 % of "
        "known images do\n",
        100 * unlike->unknown_share, unlike->images, 100 * unlike->auroc, 100 * unlike->fpr95);
  }
  fmt::print("written                   {}\n", network.file.string());
}

}  // namespace

Command calibrate_command() {
  const auto flags = std::make_shared<job::CalibrateFlags>();
  return {.name = "calibrate",
          .summary = "Make a classifier's probabilities hold, and let it know what is unknown to it",
          .options = flags->options(),
          .footer =
              "A temperature is fitted to the validation part, and judged on the test part, or crosswise on halves of "
              "the\n"
              "validation part. What is like none of the training images, by the features of the network, is called\n"
              "unknown. Both are kept in a file beside the weights, which infer, serve and export use from then on;\n"
              "--uncalibrated leaves it out. 'evener train' does the same at its end.\n\n"
              "Examples:\n"
              "  evener calibrate runs/ants\n"
              "  evener calibrate runs/ants --unlike holidays/ --unknown 0.02\n"
              "  evener calibrate resnet20 --weights resnet20.th --normalize imagenet --data cifar/ --split 40/30/30\n",
          .complete = [flags] { job::complete(*flags); },
          .run =
              [flags] {
                ProgressLine line(*flags->output.quiet);
                const job::CalibratedNetwork network = job::calibrate(*flags, line);
                const std::string& json = *flags->output.json;
                const bool is_on_stdout =
                    !json.empty() && write_json_text(json, record::calibration_text(network.figures) + "\n");
                if (!is_on_stdout) print_calibration(network);
                return 0;
              }};
}

}  // namespace evener::cli

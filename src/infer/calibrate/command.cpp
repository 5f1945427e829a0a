// evener calibrate: probabilities that hold, and how well they do.
#include "options/command.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "infer/calibrate/calibration_job.h"
#include "options/output.h"
#include "options/progress_line.h"
#include "record/calibration.h"

namespace evener::inference {
namespace {

std::string error_text(const record::CalibrationError& error) {
  std::string text = fmt::format("{:.2f} %", 100 * error.ece);
  if (error.ece_by_chance) {
    text += fmt::format(" (a perfectly calibrated network: up to {:.2f})", 100 * *error.ece_by_chance);
  }
  return text + fmt::format("; of bins of equally many images {:.2f} %", 100 * error.ece_equal_mass);
}

void print_calibration(const CalibratedNetwork& network) {
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
  const auto flags = std::make_shared<CalibrateFlags>();
  return {
      .name = "calibrate",
      .summary = "Make a classifier's probabilities hold, and let it know what is unknown to it",
      .options = flags->options(),
      .footer =
          "A temperature is fitted to the validation part, and judged on the test part, or crosswise on halves of the\n"
          "validation part. What is like none of the training images, by the features of the network, is called\n"
          "unknown. Both are kept in a file beside the weights, which infer, serve and export use from then on;\n"
          "--uncalibrated leaves it out. 'evener train' does the same at its end.\n\n"
          "Examples:\n"
          "  evener calibrate runs/ants\n"
          "  evener calibrate runs/ants --unlike holidays/ --unknown 0.02\n"
          "  evener calibrate resnet20 --weights resnet20.th --normalize imagenet --data cifar/ --split 40/30/30\n",
      .complete = [flags](measure::Observer& line) { complete(*flags, &line); },
      .run =
          [flags] {
            ProgressLine line(*flags->output.quiet);
            const CalibratedNetwork network = calibrate(*flags, line);
            const std::string json = record::calibration_text(network.figures) + "\n";
            if (!write_json_text(*flags->output.json, json)) print_calibration(network);
            return 0;
          }};
}

}  // namespace evener::inference

// The options of `evener data labels`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/locations.h"
#include "infer/model/published_weights.h"
#include "options/option.h"
#include "options/run_flags.h"

namespace evener::training {

/// Whose labels are looked at, and by which network.
struct LabelsFlags : OptionGroup {
  LabelsFlags() : OptionGroup("Labels") {}

  Option<std::string> data{*this, "DATA DATA|RUN", OptionRules{.required = true, .joint = data::kLocationJoint},
                           "Labelled data as train takes it, or the folder of a training: its data, by its network"};
  Option<std::string> model{*this, "--model NAME|DIR|FILE",
                            "Network by whose features labels are judged: of the zoo, of a training, or a file "
                            "(default: RUN's; without one pixels are compared, which suits digits and the like)"};
  Option<std::string> weights{*this, "--weights FILE",
                              "Weights of a network of the zoo, or imagenet for published ones"};
  Option<std::string> labels{*this, "--labels FILE", "Text file with the network's classes, one on each line"};
  Option<std::vector<std::string>> classes{*this, "--class NAME=GLOB",
                                           "Files of a class by their path below the folder, as for train"};
  Option<std::string> size{*this, "--size WIDTHxHEIGHT", "Size the network sees (default: as it was trained)"};
  Option<std::string> normalize{
      *this, "--normalize RULE",
      "Mean and deviation of images: imagenet, MEAN/STD or pixels (default: as the file says)"};
  Option<std::string> part{*this, "--part NAME", "all", one_of({"train", "validation", "test", "new", "all"}),
                           "Of divided data, or a run's: train, validation, test, new or all"};
  Option<int> folds{*this, "--folds N", 5, within(from_to(2, 100)),
                    "Of the cross-validation: each image is judged by a head that N-1 parts trained"};
  Option<std::uint64_t> seed{*this, "--seed N", 1, "Of the folds"};
  Option<bool> strict{*this, "--strict", "An unreadable image is an error instead of being left out"};
  Option<std::string> on{*this, "--on PLACEMENT", "cpu", "Where the network computes (docs/placements.md)"};
};

/// What `evener data labels` writes.
struct LabelsOutputFlags : OutputFlags {
  LabelsOutputFlags()
      : OutputFlags("Folder for labels.csv and the page labels.html (default: none)",
                    "Write the sums as JSON; - is stdout, instead of the table") {
    overwrite.explain("Replace what is in --out");
  }
};

struct LabelsCommandFlags {
  LabelsFlags labels;
  LabelsOutputFlags output;

  OptionSet options() { return {&labels, &output}; }
};

/// Sets --weights to the file that a name or a run stands for (take_weights()).
inline void complete(LabelsCommandFlags& flags, measure::Observer* observer) {
  inference::take_weights(flags.labels.weights, &flags.labels.normalize, *flags.labels.model, observer);
}

}  // namespace evener::training

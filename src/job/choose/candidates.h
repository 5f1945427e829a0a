// The networks that a training may take where none is named, by what is known of the data and of this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/image_shape.h"
#include "job/options/image_size.h"

namespace evener::job {

/// What the choice depends on.
struct ChoiceFacts {
  bool has_boxes = false;
  std::size_t images = 0, train_images = 0, val_images = 0;
  std::int64_t classes = 0;
  data::ImageShape image;          // of the first image
  std::optional<double> box_side;  // a box's shorter side over the longer side of its image, of the class of the
                                   // smallest boxes; absent: no boxes
  std::string network;             // that the weights are of; "" = any, from scratch
  std::optional<ImageSize> size;   // that was asked for
  ImageSize trained_size;          // that the weights were trained with
  std::int64_t batch = 0;          // that was asked for, or suits the weights; 0 = to be chosen
  double seconds = 0;              // for all
  std::int64_t free_bytes = 0;     // of memory
  int cores = 1;
  bool has_fast_bf16 = false;  // the processor computes products of bf16 much faster than those of fp32
};

/// A network at a size of its images, with what goes well with it.
struct Candidate {
  std::string model;
  ImageSize size;
  std::int64_t batch = 0;
  std::vector<std::pair<std::string, std::string>> options;  // besides those: {"--lr", "0.05"}
  double macs = 0;                                           // multiply-adds forward, of one image
  std::int64_t bytes = 0;                                    // of memory, at the peak of a training
  std::string refusal;                                       // why it can't be taken; "" = it can

  /// "resnet18 at 128x96".
  std::string text() const;
};

/// Those worth a try, from the cheapest to the dearest; at least one. Throws UsageError where no network fits.
std::vector<Candidate> candidates_for(const ChoiceFacts& facts);

}  // namespace evener::job

// Lists the networks worth trying where none is named, by the data and this machine.
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

/// What the choice of a network depends on.
struct ChoiceFacts {
  bool has_boxes = false;
  std::size_t images = 0, train_images = 0, val_images = 0;
  std::int64_t classes = 0;
  data::ImageShape image;          // of the first image
  std::optional<double> box_side;  // a box's shorter side divided by its image's longer side, for the class of the
                                   // smallest boxes; absent: no boxes
  std::string network;             // the network of the weights; "" = any, trained from scratch
  std::optional<ImageSize> size;   // by --size; absent = to be chosen
  ImageSize trained_size;          // image size with which the weights were trained
  std::int64_t batch = 0;          // by --batch, or suitable for the weights; 0 = to be chosen
  double seconds = 0;              // the time for trials and training together
  std::int64_t free_bytes = 0;     // of memory
  int cores = 1;
  bool has_fast_bf16 = false;  // the processor computes products of bf16 much faster than those of fp32
};

/// A network with an image size, and options that go well with them.
struct Candidate {
  std::string model;
  ImageSize size;
  std::int64_t batch = 0;
  std::vector<std::pair<std::string, std::string>> options;  // further options: {"--lr", "0.05"}
  double macs = 0;                                           // multiply-adds forward, of one image
  std::int64_t bytes = 0;                                    // peak memory of a training
  std::string refusal;                                       // why it can't be taken; "" = it can

  /// "resnet18 at 128x96".
  std::string text() const;
};

/// The networks worth a try, by growing cost; at least one. Throws UsageError where no network fits.
std::vector<Candidate> candidates_for(const ChoiceFacts& facts);

}  // namespace evener::job

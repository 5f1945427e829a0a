// Whether a detector looks at its images at all: one that has learnt where boxes usually are, and not what they look
// like, finds the same box where nothing is to be seen. Where all objects lie alike it is judged to be good.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "data/batch.h"
#include "engine/trainer.h"
#include "network/network.h"
#include "task/detect/decode.h"

namespace evener::task {

/// The share of such photos from which on a detector is blind.
constexpr double kBlindShare = 0.9;

/// The share of the photos whose likeliest box is found in most of the blank images, too: of the same class, nearly in
/// the same place, and at least half as likely. Of photos on which nothing is found nothing is said; absent where that
/// are all.
std::optional<double> share_found_in_blank(std::span<const std::vector<Detection>> photos,
                                           std::span<const std::vector<Detection>> blanks);

/// The same, for which the trainer of `network` is shown the photos and as many blank images as it takes. Absent also
/// where it doesn't tell what it finds, and where the batch has no pixels.
std::optional<double> share_found_in_blank(engine::Trainer& trainer, const network::Network& network,
                                           const data::Batch& photos);

}  // namespace evener::task

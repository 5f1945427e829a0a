// Whether a detector looks at its images at all. One that has learnt where boxes usually lie, and not what objects look
// like, finds the same box on blank images, and yet gets a good mAP on data whose objects all lie alike.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "data/batch.h"
#include "detect/decoders/boxes.h"
#include "engine/trainer.h"
#include "network/network.h"

namespace evener::training {

/// A detector is called blind if at least this share of its photos has the box of blank images (share_found_in_blank).
constexpr double kBlindShare = 0.9;

/// The share of the photos whose likeliest box is found in most of the blank images, too: of the same class, nearly in
/// the same place, and at least half as likely. Photos on which nothing is found don't count; absent where no others
/// are left.
std::optional<double> share_found_in_blank(std::span<const std::vector<detection::Detection>> photos,
                                           std::span<const std::vector<detection::Detection>> blanks);

/// The same for the network in `trainer`, which is shown the photos and as many blank images as needed. Absent also
/// where the trainer doesn't give its outputs, and where the batch has no pixels.
std::optional<double> share_found_in_blank(engine::Trainer& trainer, const network::Network& network,
                                           const data::Batch& photos);

}  // namespace evener::training

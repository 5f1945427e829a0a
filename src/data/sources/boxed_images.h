// Image files with boxes, as the readers of annotation formats list them: decodes, checks and brings them to one shape.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/sources/source.h"
#include "data/targets.h"

namespace evener::data {

/// An image file with its annotation.
struct AnnotatedImage {
  std::filesystem::path image;
  std::string annotation;  // the file with the boxes, for messages
  Part part = Part::kUndivided;
  std::int64_t stated_width = 0, stated_height = 0;  // of the image, by its annotation; 0: it doesn't say
  std::vector<LabelledBox> boxes;                    // in pixels of the image, or with are_shares in shares of its
                                                     // sides
  bool are_shares = false;
};

struct AnnotatedListing {
  std::string kind;  // "VOC annotations", for people
  std::vector<std::string> classes;
  std::vector<AnnotatedImage> images;
  std::vector<Skipped> skipped;  // images and boxes that the reader left out
  std::vector<std::string> notes;
};

/// Reads a text file with annotations, and converts it to UTF-8 without a byte order mark, whatever editor wrote it.
/// Throws Error with the reason alone, such as that it has more than `most_bytes`.
std::string read_annotation(const std::filesystem::path& file, std::uint64_t most_bytes);

/// Why a box with those corners can't be used, "" if it can: not finite, of zero area, or its corners are swapped.
std::string corners_refusal(double x1, double y1, double x2, double y2);

/// Where only some images are in a part, makes all undivided, so that they are divided anew, and adds a note.
void unify_parts(AnnotatedListing& listing);

/// Decodes all images once and makes a dataset of them, whose boxes are clipped at the edges and scaled along with the
/// images. Leaves out, and lists as skipped, images that can't be decoded or whose annotation has width and height
/// exchanged, as of another orientation, and boxes outside of the image. Throws Error where nothing is left, or with
/// --strict if anything was left out.
Source open_boxed_images(AnnotatedListing listing, const std::filesystem::path& where, const DataOptions& options);

}  // namespace evener::data

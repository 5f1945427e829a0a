// Image files with boxes, as each format of annotations lists them: decoded, checked, brought to one shape.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "data/sources/source.h"
#include "data/targets.h"

namespace evener::data {

/// An image file and what its annotation says of it.
struct AnnotatedImage {
  std::filesystem::path image;
  std::string annotation;  // the file that tells of the boxes, for messages
  Part part = Part::kUndivided;
  std::int64_t stated_width = 0, stated_height = 0;  // of the image, by its annotation; 0: it doesn't say
  std::vector<LabelledBox> boxes;                    // in pixels of the image, or in shares of its sides
  bool are_shares = false;
};

struct AnnotatedListing {
  std::string kind;  // "VOC annotations", for people
  std::vector<std::string> classes;
  std::vector<AnnotatedImage> images;
  std::vector<Skipped> skipped;  // images and boxes that were left out already
  std::vector<std::string> notes;
};

/// The bytes of a text file beside images, from whatever editor: in UTF-8 without a byte order mark. Throws Error with
/// the reason alone, as for what is larger.
std::string read_annotation(const std::filesystem::path& file, std::uint64_t most_bytes);

/// Whether a file's name ends so, in capitals too; `extensions` are in small letters.
bool has_extension(const std::filesystem::path& file, std::initializer_list<std::string_view> extensions);

/// Why a box with those corners can't be used, "" if it can: not finite, of zero area, or its corners are swapped.
std::string corners_refusal(double x1, double y1, double x2, double y2);

/// Where only some images are in a part, all become undivided, so that they are divided anew, and a note tells it.
void unify_parts(AnnotatedListing& listing);

/// Decodes all images once and makes a dataset of them, whose boxes are clipped at the edges and scaled along with the
/// images. Left out, and listed: images that can't be decoded or of which the annotation shows that they are meant
/// another way up, and boxes that lie outside. Throws Error where nothing is left, or with --strict if anything was
/// left out.
Source open_boxed_images(AnnotatedListing listing, const std::filesystem::path& where, const DataOptions& options);

}  // namespace evener::data

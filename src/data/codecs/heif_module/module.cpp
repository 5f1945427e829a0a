// HEIC and other HEIF files through libheif, which crops, turns and mirrors as the file says: EXIF data is ignored.
// Each picture is decoded in the calling thread, as many are decoded at the same time.
#include <libheif/heif.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/module_entry.h"
#include "data/codecs/codecs.h"
#include "data/codecs/exif.h"

namespace evener::data::heif_module {
namespace {

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

/// Takes a number of so many bytes off; beyond the end it is 0.
std::uint32_t take(std::string_view& bytes, std::size_t count) {
  if (bytes.size() < count) {
    bytes = {};
    return 0;
  }
  const auto value = static_cast<std::uint32_t>(big_endian(bytes.substr(0, count)));
  bytes.remove_prefix(count);
  return value;
}

struct Box {
  std::string_view kind;
  std::string_view content;
};

/// Takes the first box off: its length, four letters, perhaps a longer length, the content. Nothing where none is left.
std::optional<Box> next_box(std::string_view& boxes) {
  if (boxes.size() < 8) return std::nullopt;
  std::size_t begin = 8;
  std::uint64_t length = big_endian(boxes.substr(0, 4));
  if (length == 1 && boxes.size() >= 16) {
    begin = 16;
    length = big_endian(boxes.substr(8, 8));
  }
  if (length == 0 || length > boxes.size()) length = boxes.size();  // to the end
  if (length < begin) return std::nullopt;
  const Box box{boxes.substr(4, 4), boxes.substr(begin, length - begin)};
  boxes.remove_prefix(length);
  return box;
}

std::string_view content_of(std::string_view boxes, std::string_view kind) {
  while (const std::optional<Box> box = next_box(boxes)) {
    if (box->kind == kind) return box->content;
  }
  return {};
}

/// The boxes in "meta", behind its version and flags.
std::string_view meta_of(std::string_view file) {
  std::string_view meta = content_of(file, "meta");
  take(meta, 4);
  return meta;
}

std::vector<Box> properties_of(std::string_view meta) {
  std::string_view boxes = content_of(content_of(meta, "iprp"), "ipco");
  std::vector<Box> properties;
  while (const std::optional<Box> box = next_box(boxes)) properties.push_back(*box);
  return properties;
}

/// Indices of the properties of the file's picture, from 1, in the order in which they are applied.
std::vector<std::uint32_t> properties_of_primary(std::string_view meta) {
  constexpr std::uint32_t kHasWideIndices = 1;
  std::string_view primary = content_of(meta, "pitm");
  const bool has_wide_primary = take(primary, 4) >> 24 != 0;
  const std::uint32_t wanted = take(primary, has_wide_primary ? 4 : 2);
  std::string_view items = content_of(content_of(meta, "iprp"), "ipma");
  const std::uint32_t version_and_flags = take(items, 4);
  const bool is_wide = (version_and_flags & kHasWideIndices) != 0;
  const std::uint32_t count = take(items, 4);
  for (std::uint32_t i = 0; i < count && !items.empty(); ++i) {
    const std::uint32_t item = take(items, version_and_flags >> 24 != 0 ? 4 : 2);
    std::vector<std::uint32_t> indices(take(items, 1));
    for (std::uint32_t& index : indices) index = take(items, is_wide ? 2 : 1) & (is_wide ? 0x7FFF : 0x7F);
    if (item == wanted) return indices;
  }
  return {};
}

/// True where each picture that the file stores was coded without colour (HEVC, AV1); pictures of alpha and depth are
/// so in files with colour too, but not alone.
bool is_monochrome(std::string_view file) {
  constexpr std::size_t kHevcChroma = 16, kAv1Chroma = 2;
  bool found = false;
  for (const Box& box : properties_of(meta_of(file))) {
    const bool is_hevc = box.kind == "hvcC" && box.content.size() > kHevcChroma;
    const bool is_av1 = box.kind == "av1C" && box.content.size() > kAv1Chroma;
    if (is_hevc && (box.content[kHevcChroma] & 3) != 0) return false;
    if (is_av1 && (box.content[kAv1Chroma] & 0x10) == 0) return false;
    found = found || is_hevc || is_av1;
  }
  return found;
}

/// The EXIF orientation (1 to 8) that the file's picture gets by its properties "irot" and "imir". Nothing where it is
/// cropped too, is turned several times, or the file is damaged.
std::optional<int> orientation_of_primary(std::string_view file) {
  const std::string_view meta = meta_of(file);
  const std::vector<Box> properties = properties_of(meta);
  std::optional<int> turns;
  std::optional<Mirror> mirror;
  for (const std::uint32_t index : properties_of_primary(meta)) {
    if (index < 1 || index > properties.size()) continue;
    const auto& [kind, content] = properties[index - 1];
    if (kind == "clap") return std::nullopt;
    if (kind != "irot" && kind != "imir") continue;
    if (content.empty()) return std::nullopt;
    if (kind == "imir") {
      if (mirror) return std::nullopt;
      mirror = (content[0] & 1) == 0 ? Mirror::kTopWithBottom : Mirror::kLeftWithRight;
    } else {
      if (turns) return std::nullopt;
      // Mirrored first and then turned is turned the other way and then mirrored.
      turns = mirror ? -(content[0] & 3) : content[0] & 3;
    }
  }
  return orientation_of_turns(turns.value_or(0), mirror.value_or(Mirror::kNone));
}

struct Free {
  void operator()(heif_context* context) const { heif_context_free(context); }
  void operator()(heif_image_handle* handle) const { heif_image_handle_release(handle); }
  void operator()(heif_image* image) const { heif_image_release(image); }
  void operator()(heif_decoding_options* options) const { heif_decoding_options_free(options); }
};
template <class Type>
using Held = std::unique_ptr<Type, Free>;

constexpr const char* kNoDecoder =
    "libheif has no decoder of HEVC on this machine (Debian 13, Ubuntu 24.04: libheif-plugin-libde265)";

void check(const heif_error& error) {
  if (error.code == heif_error_Ok) return;
  if (error.code == heif_error_Memory_allocation_error && error.subcode != heif_suberror_Security_limit_exceeded) {
    throw Error("not enough memory to decode the HEIF file");
  }
  if (error.subcode == heif_suberror_End_of_data) throw Error("the HEIF file is cut short");
  if (error.subcode == heif_suberror_Unsupported_codec && heif_have_decoder_for_format(heif_compression_HEVC) == 0) {
    throw Error(kNoDecoder);
  }
  throw Error(std::string("damaged HEIF file, or of a kind that is not read: ") + error.message);
}

/// A file and the handle of the picture that it is about.
struct OpenHeif {
  Held<heif_context> context;
  Held<heif_image_handle> handle;
  bool is_grey = false;
  int left_orientation = 1;  // what libheif is told to leave to us

  StoredHeader header() const {
    StoredHeader header{is_grey ? 1 : 3, heif_image_handle_get_height(handle.get()),
                        heif_image_handle_get_width(handle.get()), left_orientation};
    check_picture_size(header.width, header.height);
    if (is_transposed(left_orientation)) std::swap(header.width, header.height);
    const bool is_deep = heif_image_handle_get_luma_bits_per_pixel(handle.get()) > 8;
    header.copies = is_grey ? (is_deep ? 14 : 9) : (is_deep ? 6 : 4);
    return header;
  }
};

OpenHeif open(std::string_view file) {
  constexpr int kMostPixelsRoot = 16384;  // kMaxPixels is its square
  OpenHeif opened{Held<heif_context>(heif_context_alloc()), nullptr};
  if (!opened.context) throw Error("not enough memory to decode the HEIF file");
  heif_context_set_maximum_image_size_limit(opened.context.get(), kMostPixelsRoot);
#if LIBHEIF_HAVE_VERSION(1, 13, 0)
  heif_context_set_max_decoding_threads(opened.context.get(), 0);
#endif
  check(heif_context_read_from_memory_without_copy(opened.context.get(), file.data(), file.size(), nullptr));
  heif_image_handle* handle = nullptr;
  check(heif_context_get_primary_image_handle(opened.context.get(), &handle));
  opened.handle.reset(handle);
  opened.is_grey = is_monochrome(file);
  // libheif before 1.19 turns each plane of a picture of an odd size on its own, which leaves colours a pixel aside.
  const bool is_odd = (heif_image_handle_get_width(handle) | heif_image_handle_get_height(handle)) % 2 != 0;
  if (is_odd) opened.left_orientation = orientation_of_primary(file).value_or(1);
  return opened;
}

Held<heif_image> decode_pixels(const OpenHeif& opened) {
  const Held<heif_decoding_options> options(heif_decoding_options_alloc());
  if (!options) throw Error("not enough memory to decode the HEIF file");
  options->convert_hdr_to_8bit = 1;
#if LIBHEIF_HAVE_VERSION(1, 21, 0)
  options->strict_decoding = 1;  // or tiles that are cut off or damaged are black, without an error
#endif
  options->ignore_transformations = opened.left_orientation == 1 ? 0 : 1;
  heif_image* image = nullptr;
  check(
      heif_decode_image(opened.handle.get(), &image, heif_colorspace_RGB, heif_chroma_interleaved_RGB, options.get()));
  return Held<heif_image>(image);
}

/// Some files say that they are a little smaller than what is coded: the rest is not shown.
Picture copy_pixels(const heif_image& image, const StoredHeader& header) {
  int stride = 0;
  const std::uint8_t* in = heif_image_get_plane_readonly(&image, heif_channel_interleaved, &stride);
  if (in == nullptr || heif_image_get_width(&image, heif_channel_interleaved) < header.width ||
      heif_image_get_height(&image, heif_channel_interleaved) < header.height) {
    throw Error("damaged HEIF file: its picture is of another size than its header says");
  }
  Picture picture = Picture::unset(header.channels, header.height, header.width);
  for (std::int64_t y = 0; y < header.height; ++y, in += stride) {
    std::uint8_t* out = picture.row(y);
    if (header.channels == 3) {
      std::memcpy(out, in, static_cast<std::size_t>(3 * header.width));
    } else {
      for (std::int64_t x = 0; x < header.width; ++x) out[x] = in[3 * x];
    }
  }
  return picture;
}

class HeifPhotos : public PhotoDecoder {
 public:
  StoredHeader read_header(std::string_view file) const override { return open(file).header(); }

  StoredPicture decode(std::string_view file) const override {
    const OpenHeif opened = open(file);
    const StoredHeader header = opened.header();
    const auto turn = wait_for_turn(header.width, header.height);
    return {copy_pixels(*decode_pixels(opened), header), header.orientation};
  }
};

const char* version() {
  static const std::string text = std::string("libheif ") + heif_get_version();
  return text.c_str();
}

const char* unusable_reason() {
#if LIBHEIF_HAVE_VERSION(1, 13, 0)
  static const heif_error error = heif_init(nullptr);  // finds its plugins, once and for good
  if (error.code != heif_error_Ok) return error.message;
#endif
  return heif_have_decoder_for_format(heif_compression_HEVC) != 0 ? "" : kNoDecoder;
}

}  // namespace
}  // namespace evener::data::heif_module

extern "C" {
extern const evener::ModuleEntry evener_module;
const evener::ModuleEntry evener_module =
    evener::module_entry<evener::data::PhotoDecoder, evener::data::heif_module::HeifPhotos>(
        evener::data::heif_module::version, evener::data::heif_module::unusable_reason);
}

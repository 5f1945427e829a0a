#include "base/mapped_file.h"

#include <sys/mman.h>

#include <cerrno>

#include "base/descriptor.h"
#include "base/error.h"

namespace evener {

MappedFile::MappedFile(const std::filesystem::path& path) {
  const Descriptor file = open_for_reading(path);
  size_ = size_of(file, path);
  if (size_ == 0) throw Error("can't map '" + path.string() + "' into memory: it is empty");
  void* place = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.get(), 0);
  if (place == MAP_FAILED)
    throw Error("can't map '" + path.string() + "' into memory: " + file_error_text(errno, path));
  begin_ = static_cast<const std::uint8_t*>(place);
}

MappedFile::~MappedFile() {
  ::munmap(const_cast<std::uint8_t*>(begin_), size_);
}

}  // namespace evener

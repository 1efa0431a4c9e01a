#include "segments.hpp"

#include "search.hpp"

namespace plait::layout {

Place start_of_segment(const Node& root, std::int64_t k) {
  if (k == 0) return {};
  const Node* node = &root;
  Place place;
  std::int64_t b = k - 1;  // the segment starts behind break b of *node
  for (;;) {
    switch (node->kind) {
      case Kind::run:
        return place;  // has no break: not reached
      case Kind::runs:
        return {place.position + node->bytes_before(b + 1), place.offset + node->offset[b + 1]};
      case Kind::repeated: {
        const std::int64_t copy = b / node->breaks_per_copy();
        b -= copy * node->breaks_per_copy();
        place = {place.position + copy * node->child->bytes, place.offset + copy * node->stride};
        if (b == node->child->breaks) return {place.position + node->child->bytes, place.offset + node->stride};
        node = node->child;
        break;
      }
      case Kind::parts: {
        const auto breaks_before = [node](std::int64_t i) { return node->part[i].breaks_before; };
        const Part& part = node->part[last_not_above(node->count, b, breaks_before)];
        b -= part.breaks_before;
        if (b == part.node.breaks) {  // the break between this part and the next
          const Part& next = *(&part + 1);
          return {place.position + next.bytes_before, place.offset + next.offset};
        }
        place = {place.position + part.bytes_before, place.offset + part.offset};
        node = &part.node;
        break;
      }
    }
  }
}

std::int64_t segments_within(const Node& root, std::int64_t position) {
  if (root.bytes == 0 || position <= 0) return 0;
  if (position >= root.bytes) return root.breaks + 1;
  const Node* node = &root;
  std::int64_t segments = 0;
  for (;;) {  // a break at `position` ends a segment, so it counts
    switch (node->kind) {
      case Kind::run:
        return segments;
      case Kind::runs:
        if (node->run != 0) return segments + position / node->run;
        return segments + last_not_above(node->count, position, [node](std::int64_t i) { return node->before[i]; });
      case Kind::repeated: {
        const std::int64_t copy = position / node->child->bytes;
        position -= copy * node->child->bytes;
        segments += copy * node->breaks_per_copy();
        node = node->child;
        break;
      }
      case Kind::parts: {
        const auto bytes_before = [node](std::int64_t i) { return node->part[i].bytes_before; };
        const Part& part = node->part[last_not_above(node->count, position, bytes_before)];
        position -= part.bytes_before;
        segments += part.breaks_before;
        node = &part.node;
        break;
      }
    }
  }
}

}  // namespace plait::layout

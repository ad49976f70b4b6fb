import { useEffect, useState } from "preact/hooks";

/** The page's sections; the current one is marked. */
export function Contents({ entries }: { entries: [id: string, title: string][] }) {
  const [current, set] = useState(entries[0]?.[0]);
  useEffect(() => {
    const observer = new IntersectionObserver(
      (seen) => {
        const top = seen.filter((each) => each.isIntersecting).map((each) => each.target.id)[0];
        if (top) set(top);
      },
      { rootMargin: "-10% 0px -75% 0px" },
    );
    for (const [id] of entries) {
      const section = document.getElementById(id);
      if (section) observer.observe(section);
    }
    return () => observer.disconnect();
  }, []);
  return (
    <nav aria-label="Contents" class="contents">
      <ul>
        {entries.map(([id, title]) => (
          <li key={id}>
            <a href={`#${id}`} aria-current={id === current ? "true" : undefined}>
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

LONG_READS = files_by_name(config["chain"]["reads"], FASTQ)


rule chain_index:
    input:
        config["chain"]["reference"],
    output:
        "results/index/reference.hgm",
    log:
        "logs/chain_index.log",
    threads: config["threads"]
    resources:
        mem_mb=config["chain"]["mem_mb"],
    params:
        preset=config["chain"]["preset"],
    shell:
        "hapgpu index --minimizers {input:q} -x {params.preset} -t {threads} -o {output:q} 2> {log:q}"


rule chain_file:
    input:
        reads=lambda wildcards: LONG_READS[wildcards.name],
        index="results/index/reference.hgm",
    output:
        "results/chain/{name}.paf",
    log:
        "logs/chain/{name}.log",
    threads: config["threads"]
    resources:
        **on_gpu(config["chain"]["mem_mb"]),
    params:
        hapgpu=HAPGPU,
        preset=config["chain"]["preset"],
        device=config["device"],
    shell:
        "{params.hapgpu} chain {input.index:q} {input.reads:q} -x {params.preset}"
        " --device {params.device} -t {threads} -o {output:q} 2> {log:q}"


rule mappings:
    input:
        [f"results/chain/{name}.paf" for name in LONG_READS],
    output:
        "results/mappings.paf",
    log:
        "logs/mappings.log",
    shell:
        "cat {input:q} > {output:q} 2> {log:q}"
